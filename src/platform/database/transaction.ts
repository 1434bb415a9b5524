import { NamedError } from '../../kernel/errors.js';

/** Writes that happen together or not at all, whichever stores and modules they go through: a grant and its audit event. */
export abstract class Transaction {
  /** Runs `work` in one transaction; inside another one, as a part of that. What `work` throws rolls everything back. */
  abstract run<T>(work: () => Promise<T>): Promise<T>;
}

/** The database ended it, undone, because it and another one waited for each other. */
export class TransactionDeadlock extends NamedError {}
