import type { PolicySubject } from '../../trino-rules/model/principal.js';

/** Who there is to be named. */
export abstract class PrincipalDirectory {
  /**
   * Those of `subjects` that are no account and no group. Inside a transaction, the groups that were found stay until its end.
   * Engine principals are whatever name they have; whose it is, `users` decides.
   */
  abstract missing(subjects: readonly PolicySubject[]): Promise<PolicySubject[]>;
}
