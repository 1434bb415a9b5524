import { NamedError } from '../../kernel/errors.js';

/** Runs writes of several stores in one database transaction, such as a grant and its audit event. */
export abstract class Transaction {
  /** Runs `work` in a new transaction, or in the running one. An error that `work` throws rolls everything back. */
  abstract run<T>(work: () => Promise<T>): Promise<T>;
}

/** Error: the database rolled the transaction back, because it and another transaction waited for each other. */
export class TransactionDeadlock extends NamedError {}
