import { FRESH_PREFIX } from '../document/pattern-cache.js';
import type { Privilege } from '../model/privilege.js';
import type { Aspect, Place, Restriction } from './aspect.js';

/** An aspect of access as something that somebody may do: `INSERT into sales.eu.orders`. */
export function deed(aspect: Exclude<Aspect, Restriction>): string {
  switch (aspect.about) {
    case 'privilege':
      return `${DEEDS[aspect.privilege]} ${pathOf(aspect.place)}`;
    case 'schema-ownership':
      return `have OWNERSHIP of the schema ${pathOf(aspect.place)}`;
    case 'catalog-mode':
      return `enter the catalog ${pathOf(aspect.place)} in the mode ${aspect.mode}`;
    case 'queries':
      return aspect.right === 'execute' ? 'execute queries' : `${aspect.right} other people's queries`;
    case 'impersonation':
      return `impersonate ${shown(aspect.newUser, 'a stranger')}`;
    case 'routine':
      return `${aspect.privilege} the ${aspect.kind} ${pathOf(aspect.place)}.${shown(aspect.name, `(any other ${aspect.kind})`)}`;
    case 'session-property': {
      const property = shown(aspect.property, '(any other property)');
      return aspect.catalog === null
        ? `SET SESSION ${property}`
        : `SET SESSION ${shown(aspect.catalog, '(any other catalog)')}.${property}`;
    }
  }
}

/** The same where the grants ask for it and the rules do not do it. */
export function restricted(aspect: Restriction): string {
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
    shown(catalog, '(any other catalog)'),
    schema === undefined ? undefined : shown(schema, '(any other schema)'),
    table === undefined ? undefined : shown(table, '(any other table)'),
  ];
  return levels.filter((level) => level !== undefined).join('.');
}

export function shown(name: string, instead: string): string {
  return name.includes(FRESH_PREFIX) ? instead : name;
}

const DEEDS: Record<Privilege, string> = {
  SELECT: 'SELECT from',
  INSERT: 'INSERT into',
  DELETE: 'DELETE from',
  UPDATE: 'UPDATE',
  OWNERSHIP: 'have OWNERSHIP of',
  GRANT_SELECT: 'have GRANT_SELECT on',
};
