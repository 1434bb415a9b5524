import { NamedError } from '../../kernel/errors.js';

/** Makes writes of any stores and modules happen together or not at all, such as a grant and its audit event. */
export abstract class Transaction {
  /** Runs `work` in one transaction, or as part of the present one. An error that `work` throws rolls everything back. */
  abstract run<T>(work: () => Promise<T>): Promise<T>;
}

/** The database rolled the transaction back because it and another one waited for each other. */
export class TransactionDeadlock extends NamedError {}
