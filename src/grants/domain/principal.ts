/** Whom a grant or a policy names. An engine principal is a literal name, is in no group, and is never an account. */
export type Principal = { type: 'user'; id: number } | { type: 'group'; id: number } | { type: 'engine'; name: string };

export type PolicySubject = Principal | { type: 'everyone' };
