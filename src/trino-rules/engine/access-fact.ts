import type { Privilege } from '../model/privilege.js';
import type { Resource } from '../model/resource.js';

/** One thing that rules either give somebody or do not. A level of the resource that nobody has named has a fresh name. */
export type AccessFact =
  | { about: 'catalog-mode'; resource: Resource; mode: 'all' | 'read-only' }
  | { about: 'schema-ownership'; resource: Resource }
  | { about: 'privilege'; resource: Resource; privilege: Privilege }
  | { about: 'row-filter'; resource: Resource; expression: string }
  | { about: 'hidden-column'; resource: Resource; column: string }
  | { about: 'column-mask'; resource: Resource; column: string; expression: string }
  | { about: 'queries'; right: 'execute' | 'view' | 'kill' }
  | { about: 'impersonation'; newUser: string }
  | { about: 'routine'; kind: 'function' | 'procedure'; resource: Resource; name: string; privilege: string }
  | { about: 'session-property'; property: string; catalog: string | null };

/** What takes away from a SELECT that somebody has. */
export type Restriction = Extract<AccessFact, { about: 'row-filter' | 'hidden-column' | 'column-mask' }>;

export function isRestriction(aspect: AccessFact): aspect is Restriction {
  return aspect.about === 'row-filter' || aspect.about === 'hidden-column' || aspect.about === 'column-mask';
}
