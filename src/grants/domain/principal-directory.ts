import type { PolicySubject } from '../../trino-rules/model/principal.js';

/** The accounts and groups that a grant or a policy can name. */
export abstract class PrincipalDirectory {
  /**
   * Those users and groups of `subjects` that do not exist. Locks the groups that do exist until the transaction ends. Engine
   * principals are never missing: `users` claims their names.
   */
  abstract missing(subjects: readonly PolicySubject[]): Promise<PolicySubject[]>;
}
