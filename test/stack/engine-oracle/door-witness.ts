import type { Question } from '../../support/rules/engine-question.js';

/** What `acl check` says of a door: `ana in staff on lake.hr.salaries (and 1 more table): SELECT * FROM lake.hr."salaries$files", by …`. */
const WITNESS =
  /^(?<who>.+?) on \S.*?: (?<act>SELECT (?<columns>.+?) FROM|ALTER TABLE|TRUNCATE TABLE) (?<path>(?:"[^"]*"|\w+)(?:\.(?:"[^"]*"|\w+)){2})/;

/** The statement of a witness as a question to the engine's access control; null: it is none of a table. */
export function questionOfWitness(witness: string): (Question & { groups: string[] }) | null {
  const { who, act, columns, path } = WITNESS.exec(witness)?.groups ?? {};
  if (who === undefined || act === undefined || path === undefined) return null;
  const [user = '', groups = ''] = who.split(' in ');
  const [catalog = '', schema = '', table = ''] = (path.match(/"[^"]*"|\w+/g) ?? []).map(unquoted);
  const asked = {
    user: spelledOut(user),
    groups: groups === '' ? [] : groups.split(' and ').map(spelledOut),
    ...{ catalog, schema, table },
  };
  if (act === 'ALTER TABLE') return { ask: 'table-procedure', ...asked, columns: [] };
  if (act === 'TRUNCATE TABLE') return { ask: 'truncate', ...asked };
  const names = (columns ?? '').split(', ').filter((name) => name !== '*');
  return { ask: 'select', ...asked, columns: names.map(unquoted) };
}

function unquoted(name: string): string {
  return spelledOut(name.replace(/^"|"$/g, ''));
}

/** A name like those that are meant, where it stands for others. */
function spelledOut(name: string): string {
  return name.replaceAll('…', 'x').replaceAll(' ', '_');
}
