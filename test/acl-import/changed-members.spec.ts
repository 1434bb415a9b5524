import fc from 'fast-check';
import { BudgetExceeded } from '../../src/trino-rules/document/work-budget.js';
import { runs, shareOf } from '../support/landing.js';
import { anyForeignRules, FOREIGN_USERS } from '../support/snapshots/any-foreign-rules.js';
import type { ListedUser } from '../../src/rules-files/foreign/audiences.js';
import { imported } from './imported.js';
import { membershipChanges } from './changed-members.js';
import { keptCases, publishedCases, snapshotText } from './published-cases.js';

const CASES = [...keptCases(), ...publishedCases()].filter(({ rules }) => rules.includes('group"'));

const FINANCE = { catalog: 'finance' };
const READS = { ...FINANCE, privileges: ['SELECT'] };
const OPEN = {
  catalogs: [{ allow: 'all' }],
  schemas: [],
  queries: [{ allow: ['execute'] }],
  functions: [],
  procedures: [],
};

/** Files in which one of two groups takes what the other one gives, with nobody in both. */
const TAKEN_TOGETHER: Record<string, { users: string; rules: Record<string, object[]> }> = {
  'by the catalog': {
    users: 'ana: analysts\nben: interns\n',
    rules: {
      catalogs: [{ group: 'interns', ...FINANCE, allow: 'none' }, { allow: 'all' }],
      tables: [{ group: 'analysts', ...READS }],
    },
  },
  'by queries': {
    users: 'ana: analysts\nben: bots\n',
    rules: {
      queries: [{ group: 'bots', allow: [] }, { allow: ['execute'] }],
      tables: [{ group: 'analysts', ...READS }],
    },
  },
  'by the catalog, beside one that executes': {
    users: 'ana: staff\nben: contractors\n',
    rules: {
      catalogs: [{ group: 'contractors', ...FINANCE, allow: 'none' }, { allow: 'all' }],
      tables: [READS],
      queries: [{ group: 'staff', allow: ['execute'] }],
    },
  },
  'by queries, beside one that enters': {
    users: 'ana: analysts\nben: bots\n',
    rules: {
      catalogs: [{ group: 'analysts', ...FINANCE, allow: 'read-only' }, { allow: 'none' }],
      tables: [READS],
      queries: [{ group: 'bots', allow: [] }, { allow: ['execute'] }],
    },
  },
  'by a table, beside one that executes': {
    users: 'ana: staff\nben: interns\n',
    rules: {
      tables: [{ group: 'interns', ...FINANCE, privileges: [] }, READS],
      queries: [{ group: 'staff', allow: ['execute'] }],
    },
  },
  'before a rule for both': {
    users: 'ana: staff\nben: interns\n',
    rules: {
      tables: [
        { group: 'interns', ...FINANCE, privileges: [] },
        { group: 'interns|staff', ...READS },
      ],
    },
  },
  'where a third group alone executes': {
    users: 'ana: analysts, staff\nben: interns, staff\n',
    rules: {
      queries: [{ group: 'staff', allow: ['execute'] }],
      tables: [
        { group: 'interns', ...FINANCE, privileges: [] },
        { group: 'analysts', ...READS },
      ],
    },
  },
  'beside a member who is left out of a mask': {
    users: 'ana: interns, leads\nben: staff\ndee: interns, staff\n',
    rules: {
      catalogs: [{ group: 'interns|leads', ...FINANCE, allow: 'none' }, { allow: 'all' }],
      tables: [
        { group: 'interns|leads', ...READS },
        { group: 'staff', ...READS, schema: 'pay', columns: [{ name: 'ssn', mask: "'x'" }] },
      ],
    },
  },
  'beside a group that is left out of a deny': {
    users: 'ana: clerks\nben: sales, tech\ncy\ndee: clerks, sales, web\n',
    rules: {
      tables: [
        { group: 'tech|web', ...FINANCE, schema: 'pay', privileges: ['SELECT'], filter: "r = 'EU'" },
        { group: 'clerks', ...FINANCE, privileges: [] },
        { group: 'sales', catalog: 'lake', privileges: ['SELECT', 'INSERT'] },
      ],
      queries: [{ group: 'clerks', allow: ['execute'] }],
      functions: [{ group: 'web', ...FINANCE, schema: 'pay', function: 'f', privileges: ['EXECUTE'] }],
    },
  },
};

describe('who is put into a group, or taken out of one, after an import', () => {
  it.each(shareOf(CASES))('has what the file gives a user of exactly these groups: $name', async (kept) => {
    const { asked, more, less } = await membershipChanges(kept);
    const first = (answers: object[]) => ({ count: answers.length, first: answers.slice(0, 3) });
    expect({ asked: asked > 100, more: first(more), less: first(less) }).toEqual({
      asked: true,
      more: first([]),
      less: first([]),
    });
  });

  it('has never more by any rules, and loses no data without a finding', async () => {
    const users = `${FOREIGN_USERS}b1: g1\nuser:axb: h, g2\n`;
    await fc.assert(
      fc.asyncProperty(anyForeignRules(), async (rules) => {
        const changes = await membershipChanges({ users, rules, catalog: '' }).catch((error: unknown) => {
          if (error instanceof BudgetExceeded) return null;
          throw error;
        });
        fc.pre(changes !== null);
        expect(changes).toMatchObject({ more: [], less: [] });
      }),
      // A shrunk example takes too many imports.
      { numRuns: runs(15), endOnFailure: true },
    );
  });

  it.each(Object.entries(TAKEN_TOGETHER))(
    'has no more where one group takes what another one gives: %s',
    async (_, { users, rules }) => {
      const { more } = await membershipChanges({ users, rules: JSON.stringify({ ...OPEN, ...rules }), catalog: '' });
      expect(more).toEqual([]);
    },
  );

  it('gives a group what the file gives it, whatever its size, and takes from members who have less', () => {
    const rules = {
      catalogs: [
        { group: 'interns', catalog: 'finance', allow: 'none' },
        { group: 'all-staff', catalog: 'finance', allow: 'read-only' },
        { allow: 'none' },
      ],
      schemas: [],
      tables: [
        { user: 'ben', catalog: 'finance', schema: 'public', table: 'pay', privileges: ['SELECT'], filter: 'eu' },
        { group: 'all-staff', catalog: 'finance', schema: 'public', privileges: ['SELECT'] },
      ],
      queries: [{ group: 'all-staff', allow: ['execute'] }],
    };
    const one = { name: 'ana', groups: ['all-staff'] };
    const others = [
      { name: 'ben', groups: ['all-staff'] },
      { name: 'dora', groups: ['all-staff', 'interns'] },
    ];
    const written = (users: ListedUser[]) => {
      const { snapshot, findings } = imported(JSON.stringify(rules), users);
      const lines = snapshotText(snapshot)
        .split('\n')
        .filter((line) => line.includes(' finance'));
      return { lines, lost: findings.filter(({ severity }) => severity === 'warning').map(({ code }) => code) };
    };
    const grant = 'all-staff: SELECT on finance.public';
    expect(written([one])).toEqual({ lines: [grant], lost: ['import-users-missing'] });
    expect(written([one, ...others])).toEqual({
      lines: [grant, 'interns: deny on finance: SELECT', 'ben: row_filter on finance.public.pay: eu'],
      lost: [],
    });
  });

  it('lets a rule for a user in a group hold while both do', () => {
    const rules = {
      catalogs: [{ catalog: 'lake', allow: 'read-only' }],
      schemas: [],
      tables: [{ user: 'ana', group: 'leads', catalog: 'lake', privileges: ['SELECT'] }],
      queries: [{ allow: ['execute'] }],
    };
    const users = ['ana', 'bo'].map((name) => ({ name, groups: ['leads'] }));
    const text = snapshotText(imported(JSON.stringify(rules), users).snapshot);
    expect(text).toContain('ana: SELECT on lake\n');
    expect(text).toContain('ana but for leads: deny on lake: SELECT\n');
  });
});
