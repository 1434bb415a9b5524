/** The holder of a name, and its spelling. */
export interface HeldName {
  name: string;
  holder: 'account' | 'engine';
}

/**
 * The one table of names: the first holder of a name has it for good, in any case of its letters.
 * Accounts claim theirs when they register (UserStore.register).
 */
export abstract class PrincipalNames {
  /**
   * Claims names for engine principals, all that are free or held by engine principals in the same spelling already.
   * @returns those that are not: held by an account, or spelled otherwise. Empty: all are claimed.
   */
  abstract claimForEngine(names: readonly string[], at: Date): Promise<HeldName[]>;
}
