import { readLeniently } from '../check/lenient-reader.js';
import { WorkBudget } from '../../trino-rules/document/work-budget.js';
import type { Question } from '../../trino-rules/model/question.js';
import { explainForeign } from './foreign-explanation.js';

const ana = { name: 'ana', groups: ['desk', 'eu'] };
const orders = { catalog: 'sales', schema: 'eu', table: 'orders' };
const select: Question = { about: 'privilege', privilege: 'SELECT', resource: orders };

function explained(file: object, question: Question, user: Parameters<typeof explainForeign>[1] = ana) {
  const { rules } = readLeniently(JSON.stringify(file));
  if (rules === null) throw new Error('no rules');
  const explanation = explainForeign(rules, user, question, new WorkBudget(100_000_000));
  if (explanation.kind === 'undecided') return `${explanation.rule.place} undecided: ${explanation.message}`;
  const { allowed, rule, consideredRules: considered, section, isAbsent, refusalReason: refusedFor } = explanation;
  const before = considered.map(({ place }) => place).join(' ');
  return `${allowed ? 'yes' : 'no'} ${isAbsent ? `without ${section}` : (rule?.place ?? `none of ${section}`)}${before && ` after ${before}`}${refusedFor === null ? '' : `: it ${refusedFor}`}`;
}

describe('an explanation of any file', () => {
  it('takes the first rule of the user, by name or by a group', () => {
    const tables = [
      { user: 'bo', catalog: 'sales', privileges: [] },
      { catalog: 'hr', privileges: [] },
      { group: 'eu|us', catalog: 'sales', schema: 'eu', privileges: ['SELECT'] },
    ];
    const file = { catalogs: [{ group: 'desk', catalog: 'sales', allow: 'read-only' }], tables };
    expect(explained(file, select)).toBe('yes tables[2] after catalogs[0] tables[0]');
    expect(explained(file, { ...select, privilege: 'INSERT' })).toBe('no catalogs[0]');
    expect(explained(file, select, { name: 'bo', groups: ['desk'] })).toBe('no tables[0] after catalogs[0]');
    expect(explained(file, select, { name: 'cy', groups: [] })).toBe('no none of catalogs after catalogs[0]');
  });

  it('names the section that is absent, whether everybody has it then or nobody', () => {
    const [property, execute] = [
      { about: 'session-property', property: 'x', catalog: null } as const,
      'EXECUTE' as const,
    ];
    expect(explained({}, select)).toBe('yes without tables');
    expect(explained({}, property)).toBe('yes without system_session_properties');
    expect(explained({}, { about: 'queries', right: 'kill', owner: 'bo' })).toBe('yes without queries');
    expect(explained({}, { about: 'impersonation', newUser: 'bo' })).toBe('no without impersonation');
    expect(explained({ principals: [] }, { about: 'impersonation', newUser: 'bo' })).toBe('yes without impersonation');
    expect(explained({}, { about: 'system-information', right: 'read' })).toBe('no without system_information');
    const routine = { catalog: 'sales', schema: 'system', routine: 'query' };
    expect(explained({}, { about: 'routine', kind: 'function', resource: routine, privilege: execute })).toBe(
      'no without functions',
    );
  });

  it('is undecided where it is not known whether the rule that would decide matches, and only there', () => {
    const file = {
      tables: [
        { catalog: 'sales', table: '(o)\\1.*', privileges: [] },
        { group: 'eu', catalog: 'sales', privileges: ['SELECT'] },
      ],
    };
    expect(explained(file, select)).toMatch(/^tables\[0\] undecided: the names that the table .* cannot be told$/);
    expect(explained(file, { ...select, resource: { catalog: 'hr' } })).toBe('no none of tables');
    const unknown = { name: 'ana', groups: null };
    expect(explained({ tables: file.tables.slice(1) }, select, unknown)).toBe(
      'tables[0] undecided: the rule is for groups, and those of ana are not known',
    );
    const own = [{ user: 'ana', privileges: ['SELECT'] }, ...file.tables.slice(1)];
    expect(explained({ tables: own }, select, unknown)).toBe('yes tables[0]');
    const gated = { catalogs: [{ group: 'eu', allow: 'all' }], tables: own };
    expect(explained(gated, select, unknown)).toMatch(/^catalogs\[0\] undecided/);
  });

  it('judges whose queries are viewed, and whom one may act as', () => {
    const file = {
      queries: [
        { group: 'desk', queryOwner: 'etl_.*', allow: ['view'] },
        { group: 'desk', allow: ['execute'] },
      ],
      impersonation: [
        { original_user: 'bo', new_user: '.*' },
        { original_user: '(an)a', new_user: '$1_box' },
        { original_user: 'ana', new_user: 'admin.*', allow: false },
        { original_user: 'ana', new_user: 'a.*' },
      ],
    };
    const viewing = (owner?: string) => ({ about: 'queries', right: 'view', owner }) as const;
    expect(explained(file, viewing('etl_1'))).toBe('yes queries[0]');
    expect(explained(file, viewing('bo'))).toBe('no queries[1]');
    expect(explained(file, viewing())).toBe('no queries[1]');
    expect(explained(file, { about: 'queries', right: 'execute' })).toBe('yes queries[1]');
    const acting = (newUser: string) => explained(file, { about: 'impersonation', newUser });
    expect(acting('an_box')).toBe('yes impersonation[1] after impersonation[0]');
    expect(acting('admin1')).toBe('no impersonation[2] after impersonation[0]');
    expect(acting('alf')).toBe('yes impersonation[3] after impersonation[0]');
    expect(acting('bo')).toBe('no none of impersonation after impersonation[0]');
  });

  it('denies what the engine refuses beside the filter and the masks of the rule that gives it', () => {
    const privileges = ['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'OWNERSHIP'];
    const answers = (rule: object) => {
      const file = { tables: [{ privileges, ...rule }] };
      return ['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'OWNERSHIP'].map((privilege) =>
        explained(file, { ...select, privilege } as Question).replace(/ tables\[0\]|, beside which the engine/g, ''),
      );
    };
    const hidden = { columns: [{ name: 'country', allow: false }] };
    const fails = 'no: it has a filter that reads country, which it hides';
    expect(answers({ ...hidden, filter: "country = 'AT'" })).toEqual([fails, fails, fails, fails, 'yes']);
    expect(answers({ ...hidden, filter: 'x = 1' })).toEqual([
      'yes',
      'yes',
      'no: it has a filter refuses UPDATE',
      'yes',
      'yes',
    ]);
    const masked = (each: string) => `no: it has a mask refuses ${each}`;
    const column = { name: 'ssn', mask: 'NULL' };
    for (const columns of [[column], [{ ...column, allow: false }]])
      expect(answers({ columns })).toEqual(['yes', masked('INSERT'), masked('UPDATE'), masked('DELETE'), 'yes']);
    expect(answers({ filter: 'x = 1;' })[0]).toMatch(/^no: it has a filter that is no expression of SQL: a semicolon/);
  });
});
