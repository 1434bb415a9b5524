import { FRESH_PREFIX } from '../document/open-names.js';
import { nodeText, mapNames, type Node } from '../model/node.js';
import { PRIVILEGE_TERMS } from '../model/privilege.js';
import type { Question, RoutineQuestion } from '../model/question.js';

/** A permission or restriction of a user. An absent level of the resource stands for all names that no grant or rule names. */
export type AccessFact =
  | Question
  | { about: 'row-filter'; resource: Node; expression: string }
  | { about: 'hidden-column'; resource: Node; column: string }
  | { about: 'column-mask'; resource: Node; column: string; expression: string };

export type Restriction = Extract<AccessFact, { about: 'row-filter' | 'hidden-column' | 'column-mask' }>;

export function isRestriction(fact: AccessFact): fact is Restriction {
  return fact.about === 'row-filter' || fact.about === 'hidden-column' || fact.about === 'column-mask';
}

/** A permission in words: `INSERT into sales.eu.orders`. */
export function describePermission(fact: Question): string {
  switch (fact.about) {
    case 'privilege': {
      const permission = `${PRIVILEGE_TERMS[fact.privilege].phrase} ${resourceText(fact.resource)}`;
      return fact.column === undefined ? permission : `${permission}, column ${fact.column}`;
    }
    case 'table-procedures':
      return `run table procedures (ALTER TABLE … EXECUTE) on ${resourceText(fact.resource)}`;
    case 'schema-ownership':
      return `have OWNERSHIP of the ${fact.resource.schema === undefined ? 'schemas of' : 'schema'} ${resourceText(fact.resource)}`;
    case 'catalog-mode':
      return `enter the catalog ${resourceText(fact.resource)}${fact.mode === 'all' ? ' in the mode all' : ''}`;
    case 'queries':
      if (fact.right === 'execute') return 'execute queries';
      return fact.owner === undefined
        ? `${fact.right} other people's queries`
        : `${fact.right} queries of ${displayName(fact.owner, 'any other user')}`;
    case 'impersonation':
      return `impersonate ${displayName(fact.newUser, 'a stranger')}`;
    case 'routine':
      return fact.resource.routine === undefined
        ? `${ROUTINE_PHRASES[fact.privilege]} the ${fact.kind}s of ${resourceText(fact.resource)}`
        : `${ROUTINE_PHRASES[fact.privilege]} the ${fact.kind} ${resourceText(fact.resource)}`;
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

/** A restriction in words: `may not SELECT the column card of sales.eu.orders`. */
export function describeRestriction(fact: Restriction): string {
  const target = resourceText(fact.resource);
  switch (fact.about) {
    case 'row-filter':
      return `may SELECT only those rows of ${target} ${FILTER_PHRASE} ${fact.expression}`;
    case 'hidden-column':
      return `may not SELECT the column ${fact.column} of ${target}`;
    case 'column-mask':
      return `may SELECT the column ${fact.column} of ${target} ${MASK_PHRASE} ${fact.expression}`;
  }
}

const FILTER_PHRASE = 'for which';
const MASK_PHRASE = 'only as';

/** The description of a restriction without the SQL of its policy, which must not be logged. */
export function withoutSql(text: string): string {
  const [description = '', ...sqlParts] = text.split(new RegExp(` (?:${FILTER_PHRASE}|${MASK_PHRASE}) `));
  return sqlParts.length === 0 ? description : `${description} (its SQL is not logged)`;
}

/** Leaves out each level with an invented name, which stands for all names that no rule contains. */
export function onlyNamedLevels(resource: Node): Node {
  const namesByLevel = mapNames(resource, (name) => displayName(name, ''));
  return Object.fromEntries(Object.entries(namesByLevel).filter(([, name]) => name !== ''));
}

/** The text of a node (`sales.eu.orders`). An invented name, which stands for all unnamed nodes, is written with its level: `(any other table)`. */
export function resourceText(resource: Node): string {
  return nodeText(mapNames(resource, (name, level) => displayName(name, `(any other ${level})`))) || 'everything';
}

const REPRESENTATIVE_PREFIX = `${FRESH_PREFIX}=`;

/** Marks a name as the representative of all names that match the same patterns. Invented names (with FRESH_PREFIX) stay unchanged. */
export function markRepresentative(name: string): string {
  return name.includes(FRESH_PREFIX) ? name : REPRESENTATIVE_PREFIX + name;
}

/** Reverses `markRepresentative`; other names are unchanged. */
export function unmarkRepresentative(name: string): string {
  return name.startsWith(REPRESENTATIVE_PREFIX) ? name.slice(REPRESENTATIVE_PREFIX.length) : name;
}

/** Renames the objects, properties, routines and users in a fact. */
export function renameFact(
  fact: AccessFact,
  renameObject: (name: string) => string,
  renameUser: (name: string) => string,
): AccessFact {
  if (fact.about === 'system-information') return fact;
  if (fact.about === 'queries') return fact.owner === undefined ? fact : { ...fact, owner: renameUser(fact.owner) };
  if (fact.about === 'impersonation') return { ...fact, newUser: renameUser(fact.newUser) };
  if (fact.about === 'session-property') {
    const { property, catalog } = fact;
    return { ...fact, property: renameObject(property), catalog: catalog === null ? null : renameObject(catalog) };
  }
  return { ...fact, resource: mapNames(fact.resource, renameObject) } as AccessFact;
}

/** A name for messages. Invented names, which stand for names that no rule has, become readable: `sales_…`, `(like a1)` or `fallback`. */
export function displayName(name: string, fallback: string): string {
  if (name.startsWith(REPRESENTATIVE_PREFIX)) return `(like ${unmarkRepresentative(name)})`;
  const [prefix = '', ...laterParts] = name.split(FRESH_PREFIX);
  if (laterParts.length === 0) return name;
  return prefix === '' && laterParts.every((part) => /^\d*$/.test(part)) ? fallback : [prefix, ...laterParts].join('…');
}
