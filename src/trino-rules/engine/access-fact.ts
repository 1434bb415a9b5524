import type { Privilege } from '../model/privilege.js';

/** A place in the tree where the rules were asked; a level that nobody has named yet has a fresh name. */
export interface Place {
  catalog: string;
  schema?: string;
  table?: string;
}

/** One thing that the rules either give somebody or do not. */
export type AccessFact =
  | { about: 'catalog-mode'; place: Place; mode: 'all' | 'read-only' }
  | { about: 'schema-ownership'; place: Place }
  | { about: 'privilege'; place: Place; privilege: Privilege }
  | { about: 'row-filter'; place: Place; expression: string }
  | { about: 'hidden-column'; place: Place; column: string }
  | { about: 'column-mask'; place: Place; column: string; expression: string }
  | { about: 'queries'; right: 'execute' | 'view' | 'kill' }
  | { about: 'impersonation'; newUser: string }
  | { about: 'routine'; kind: 'function' | 'procedure'; place: Place; name: string; privilege: string }
  | { about: 'session-property'; property: string; catalog: string | null };

/** What takes away from a SELECT that somebody has. */
export type Restriction = Extract<AccessFact, { about: 'row-filter' | 'hidden-column' | 'column-mask' }>;

export function isRestriction(aspect: AccessFact): aspect is Restriction {
  return aspect.about === 'row-filter' || aspect.about === 'hidden-column' || aspect.about === 'column-mask';
}
