import { FRESH_PREFIX } from '../document/pattern-cache.js';
import type { Privilege } from '../model/privilege.js';
import type { AccessFact, Place, Restriction } from './access-fact.js';

/** An aspect of access as something that somebody may do: `INSERT into sales.eu.orders`. */
export function describePermission(aspect: Exclude<AccessFact, Restriction>): string {
  switch (aspect.about) {
    case 'privilege':
      return `${PERMISSIONS[aspect.privilege]} ${pathOf(aspect.place)}`;
    case 'schema-ownership':
      return `have OWNERSHIP of the schema ${pathOf(aspect.place)}`;
    case 'catalog-mode':
      return `enter the catalog ${pathOf(aspect.place)} in the mode ${aspect.mode}`;
    case 'queries':
      return aspect.right === 'execute' ? 'execute queries' : `${aspect.right} other people's queries`;
    case 'impersonation':
      return `impersonate ${displayName(aspect.newUser, 'a stranger')}`;
    case 'routine':
      return `${aspect.privilege} the ${aspect.kind} ${pathOf(aspect.place)}.${displayName(aspect.name, `(any other ${aspect.kind})`)}`;
    case 'session-property': {
      const property = displayName(aspect.property, '(any other property)');
      return aspect.catalog === null
        ? `SET SESSION ${property}`
        : `SET SESSION ${displayName(aspect.catalog, '(any other catalog)')}.${property}`;
    }
  }
}

/** The same where the grants ask for it and the rules do not do it. */
export function describeRestriction(aspect: Restriction): string {
  const where = pathOf(aspect.place);
  switch (aspect.about) {
    case 'row-filter':
      return `may SELECT only those rows of ${where} ${FILTERED} ${aspect.expression}`;
    case 'hidden-column':
      return `may not SELECT the column ${aspect.column} of ${where}`;
    case 'column-mask':
      return `may SELECT the column ${aspect.column} of ${where} ${MASKED} ${aspect.expression}`;
  }
}

const FILTERED = 'for which';
const MASKED = 'only as';

/** A text with these sentences in it, for logs: it ends where SQL, which is people's data, may begin. */
export function withoutSql(text: string): string {
  const [before = '', ...rest] = text.split(new RegExp(` (?:${FILTERED}|${MASKED}) `));
  return rest.length === 0 ? before : `${before} (its SQL is not logged)`;
}

/** `sales.eu.orders`; what nobody has named is told as such. */
export function pathOf({ catalog, schema, table }: Place): string {
  const levels = [
    displayName(catalog, '(any other catalog)'),
    schema === undefined ? undefined : displayName(schema, '(any other schema)'),
    table === undefined ? undefined : displayName(table, '(any other table)'),
  ];
  return levels.filter((level) => level !== undefined).join('.');
}

export function displayName(name: string, instead: string): string {
  return name.includes(FRESH_PREFIX) ? instead : name;
}

const PERMISSIONS: Record<Privilege, string> = {
  SELECT: 'SELECT from',
  INSERT: 'INSERT into',
  DELETE: 'DELETE from',
  UPDATE: 'UPDATE',
  OWNERSHIP: 'have OWNERSHIP of',
  GRANT_SELECT: 'have GRANT_SELECT on',
};
