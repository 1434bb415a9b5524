import { readLeniently } from '../check/lenient-reader.js';
import { accessDiffLines } from '../../trino-rules/diff/access-diff-form.js';
import { WorkBudget } from '../../trino-rules/document/work-budget.js';
import type { ListedUser } from './audiences.js';
import { diffForeign } from './foreign-diff.js';

const LIST: ListedUser[] = [
  { name: 'ana', groups: ['admins'] },
  { name: 'bo', groups: [] },
];

function rulesOf(sections: object) {
  const { rules } = readLeniently(JSON.stringify(sections));
  if (rules === null) throw new Error('no document');
  return rules;
}

/** Lines of what changes; of what cannot be compared, its messages. */
function diff(before: object, after: object, users: readonly ListedUser[] | null = null): string[] {
  const result = diffForeign(rulesOf(before), rulesOf(after), users, new WorkBudget());
  return result.kind === 'compared'
    ? accessDiffLines(result.access).map((line) => line.trim())
    : result.problems.map(({ file, rule, message }) => `${file} ${rule} ${message}`);
}

const impersonating = (original_user: string, new_user: string) => ({ impersonation: [{ original_user, new_user }] });

describe('a comparison of any rules files', () => {
  it.each([
    ['(an|b)(.*)', '$1_x', ['gained by ana:', 'impersonate an_x', 'gained by bo:', 'impersonate b_x']],
    [
      '(an|b)(.*)',
      'x|$2',
      ['gained by ana, bo (2):', 'impersonate x', 'gained by ana:', 'impersonate a', 'gained by bo:', 'impersonate o'],
    ],
    ['(an|b)(.*)', '$10', ['gained by ana:', 'impersonate an0', 'gained by bo:', 'impersonate b0']],
    ['ana|(bo)', 'x$1', ['gained by ana:', 'impersonate x', 'gained by bo:', 'impersonate xbo']],
    ['ana', 'x\\_y', ['gained by ana:', 'impersonate x_y']],
    ['ana', 'x$', ['after impersonation[0] the names that the new_user "x$" stands for cannot be told']],
    ['ana', '$1', ['after impersonation[0] the names that the new_user "$1" stands for cannot be told']],
    ['((a)+n)*.*', '$1', ['after impersonation[0] the names that the new_user "$1" stands for cannot be told']],
  ])('replaces in new_user as the engine does: %s, %s', (original, replacement, lines) => {
    expect(diff({ impersonation: [] }, impersonating(original, replacement), LIST)).toEqual(lines);
  });

  it('needs a list of users for groups, and for what a replacement stands for', () => {
    expect(diff({ tables: [{ group: 'g', privileges: [] }] }, impersonating('(a).*', '$1'))).toEqual([
      expect.stringMatching(/^before tables\[0\] a rule for groups can only be compared for users of a list/),
      expect.stringMatching(/^after impersonation\[0\] .*without a list of users$/),
    ]);
  });

  it('knows whose queries may be viewed, and that nobody needs a rule for their own', () => {
    const owned = (queryOwner: string) => ({ queries: [{ queryOwner, allow: ['view'] }] });
    expect(diff(owned('ana'), owned('ana|bo'), LIST)).toEqual(['gained by ana:', 'view queries of bo']);
  });

  it.each(['a IN (SELECT b FROM lake.s.t)', 'lake.s.f(a)', "/* it's */ a = (SELECT 'x')"])(
    'tells %s apart as it is evaluated as somebody else',
    (filter) => {
      const filtered = (environment: object) => ({
        catalogs: [{ catalog: 'lake', allow: 'all' }, { allow: 'none' }],
        tables: [{ privileges: ['SELECT'], filter, ...environment }],
      });
      const where = `may SELECT only those rows of lake.(any other schema).(any other table) for which ${filter}`;
      expect(diff(filtered({}), filtered({ filter_environment: { user: 'root' } }), LIST)).toEqual([
        'gained by ana, bo (2):',
        `no longer: ${where}`,
        'lost by ana, bo (2):',
        `now: ${where} (evaluated as root)`,
      ]);
    },
  );

  it.each([
    'a = 1',
    'owner = current_user',
    `a = 'x.f(select)' OR "with" = 1`,
    'CAST(a AS time(3) with time zone) = b',
  ])('does not tell %s apart, whoever evaluates it', (filter) => {
    const filtered = (environment: object) => ({ tables: [{ privileges: ['SELECT'], filter, ...environment }] });
    expect(diff(filtered({}), filtered({ filter_environment: { user: 'root' } }), LIST)).toEqual([]);
  });

  it('leaves out what the engine never asks: who passes on a procedure, who owns information_schema', () => {
    const open = { catalogs: [{ catalog: 'lake', allow: 'all' }], tables: [] };
    const procedures = (...privileges: string[]) => [{ catalog: 'lake', privileges }];
    const owned = (owner: boolean) => [{ catalog: 'lake', schema: 'information_schema', owner }];
    expect(
      diff(
        { ...open, schemas: owned(true), procedures: procedures('EXECUTE', 'GRANT_EXECUTE') },
        { ...open, schemas: owned(false), procedures: procedures('EXECUTE') },
        LIST,
      ),
    ).toEqual([]);
  });

  it('takes line breaks and tabs of SQL for blanks, but in quotes', () => {
    const filtered = (filter: string, mask: string) => ({
      tables: [{ privileges: ['SELECT'], filter, columns: [{ name: 'c', mask }] }],
    });
    const written = filtered("a = 1\n  AND\tb = 'x  y'", "CASE\r\n WHEN a = 1 THEN 'x' END");
    expect(diff(written, filtered("(a = 1 AND b = 'x  y')", "CASE WHEN a = 1 THEN 'x' END"), LIST)).toEqual([]);
    expect(diff(written, filtered("a = 1 AND b = 'x y'", "CASE WHEN a = 1 THEN 'x' END"), LIST)).not.toEqual([]);
  });

  it('says what other names gain that patterns tell apart, with one of each kind', () => {
    const rules = (user: string, table: string) => ({
      catalogs: [{ catalog: 'lake', allow: 'all' }, { allow: 'none' }],
      tables: [
        { user, table, privileges: ['SELECT'] },
        { table: 'tmp', privileges: [] },
      ],
    });
    expect(diff(rules('ana', '[a-f]+|tmp_.*'), rules('ana|\\d+', '[d-h]+|tmp_.*'))).toEqual([
      'gained by (like 0):',
      'SELECT from lake.(any other schema).{tmp_…, (like d)}',
      'gained by ana, (like 0) (2):',
      'SELECT from lake.(any other schema).(like g)',
      'lost by ana:',
      'SELECT from lake.(any other schema).(like a)',
    ]);
  });

  it('lets everybody impersonate where "principals" stands without "impersonation"', () => {
    const principals = { principals: [{ principal: '.*', allow: true }] };
    expect(diff({ impersonation: [], ...principals }, principals, LIST)).toEqual([
      'gained by bo:',
      'impersonate ana',
      'gained by ana:',
      'impersonate bo',
      'gained by ana, bo (2):',
      'impersonate a stranger',
    ]);
  });
});
