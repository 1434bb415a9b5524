import { FRESH_PREFIX } from '../document/open-names.js';
import { nodeText, withNames, type Node } from '../model/node.js';
import { PRIVILEGE_TERMS } from '../model/privilege.js';
import type { Question, RoutineQuestion } from '../model/question.js';

/** A permission or restriction of a user. An unnamed level of the resource has a fresh name. */
export type AccessFact =
  | Question
  | { about: 'row-filter'; resource: Node; expression: string }
  | { about: 'hidden-column'; resource: Node; column: string }
  | { about: 'column-mask'; resource: Node; column: string; expression: string };

export type Restriction = Extract<AccessFact, { about: 'row-filter' | 'hidden-column' | 'column-mask' }>;

export function isRestriction(aspect: AccessFact): aspect is Restriction {
  return aspect.about === 'row-filter' || aspect.about === 'hidden-column' || aspect.about === 'column-mask';
}

/** `INSERT into sales.eu.orders` */
export function describePermission(fact: Question): string {
  switch (fact.about) {
    case 'privilege': {
      const permission = `${PRIVILEGE_TERMS[fact.privilege].phrase} ${pathOf(fact.resource)}`;
      return fact.column === undefined ? permission : `${permission}, column ${fact.column}`;
    }
    case 'table-procedures':
      return `run table procedures (ALTER TABLE … EXECUTE) on ${pathOf(fact.resource)}`;
    case 'schema-ownership':
      return `have OWNERSHIP of the schema ${pathOf(fact.resource)}`;
    case 'catalog-mode':
      return `enter the catalog ${pathOf(fact.resource)}${fact.mode === 'all' ? ' in the mode all' : ''}`;
    case 'queries':
      if (fact.right === 'execute') return 'execute queries';
      return fact.owner === undefined
        ? `${fact.right} other people's queries`
        : `${fact.right} queries of ${displayName(fact.owner, 'any other user')}`;
    case 'impersonation':
      return `impersonate ${displayName(fact.newUser, 'a stranger')}`;
    case 'routine':
      return fact.resource.routine === undefined
        ? `${ROUTINE_PHRASES[fact.privilege]} the ${fact.kind}s of ${pathOf(fact.resource) || 'everything'}`
        : `${ROUTINE_PHRASES[fact.privilege]} the ${fact.kind} ${pathOf(fact.resource)}`;
    case 'system-information':
      return `${fact.right} system information`;
    case 'session-property': {
      const property = displayName(fact.property, '(any other property)');
      return fact.catalog === null
        ? `SET SESSION ${property}`
        : `SET SESSION ${displayName(fact.catalog, '(any other catalog)')}.${property}`;
    }
  }
}

const ROUTINE_PHRASES: Readonly<Record<RoutineQuestion['privilege'], string>> = {
  EXECUTE: 'EXECUTE',
  GRANT_EXECUTE: 'have GRANT_EXECUTE on',
  OWNERSHIP: 'have OWNERSHIP of',
};

/** `may not SELECT the column card of sales.eu.orders` */
export function describeRestriction(fact: Restriction): string {
  const where = pathOf(fact.resource);
  switch (fact.about) {
    case 'row-filter':
      return `may SELECT only those rows of ${where} ${FILTERED} ${fact.expression}`;
    case 'hidden-column':
      return `may not SELECT the column ${fact.column} of ${where}`;
    case 'column-mask':
      return `may SELECT the column ${fact.column} of ${where} ${MASKED} ${fact.expression}`;
  }
}

const FILTERED = 'for which';
const MASKED = 'only as';

/** Cuts a text with such descriptions where SQL may begin, which must not be logged. */
export function withoutSql(text: string): string {
  const [before = '', ...rest] = text.split(new RegExp(` (?:${FILTERED}|${MASKED}) `));
  return rest.length === 0 ? before : `${before} (its SQL is not logged)`;
}

/** A node without the levels that have fresh names, which represent any other name. */
export function namedLevels(resource: Node): Node {
  const shown = withNames(resource, (name) => displayName(name, ''));
  return Object.fromEntries(Object.entries(shown).filter(([, name]) => name !== ''));
}

/** `sales.eu.orders`; a fresh name is written as `(any other table)`. */
export function pathOf(resource: Node): string {
  return nodeText(withNames(resource, (name, level) => displayName(name, `(any other ${level})`)));
}

const STANDING = `${FRESH_PREFIX}=`;

/** The notation for a name that represents all names that match the same patterns. */
export function standingForOthers(name: string): string {
  return name.includes(FRESH_PREFIX) ? name : STANDING + name;
}

/** Reverses `standingForOthers`; other names are unchanged. */
export function nameInRules(name: string): string {
  return name.startsWith(STANDING) ? name.slice(STANDING.length) : name;
}

/** Renames the objects, properties, routines and users in a fact. */
export function renamed(
  fact: AccessFact,
  object: (name: string) => string,
  user: (name: string) => string,
): AccessFact {
  if (fact.about === 'system-information') return fact;
  if (fact.about === 'queries') return fact.owner === undefined ? fact : { ...fact, owner: user(fact.owner) };
  if (fact.about === 'impersonation') return { ...fact, newUser: user(fact.newUser) };
  if (fact.about === 'session-property')
    return { ...fact, property: object(fact.property), catalog: fact.catalog === null ? null : object(fact.catalog) };
  return { ...fact, resource: withNames(fact.resource, object) } as AccessFact;
}

/** A name for people: `instead` for a fresh name; `sales_…` and `(like a1)` for one that an open pattern matches. */
export function displayName(name: string, instead: string): string {
  if (name.startsWith(STANDING)) return `(like ${nameInRules(name)})`;
  const [before = '', ...after] = name.split(FRESH_PREFIX);
  if (after.length === 0) return name;
  return before === '' && after.every((rest) => /^\d*$/.test(rest)) ? instead : [before, ...after].join('…');
}
