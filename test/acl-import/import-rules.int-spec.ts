import fc from 'fast-check';
import { runs } from '../support/landing.js';
import { anyRules } from '../support/snapshots/any-rules.js';
import { anySnapshotOfData } from '../support/snapshots/any-snapshot.js';
import { SIZES, skewedSnapshot } from '../support/snapshots/skewed-snapshot.js';
import { NOW, SETTINGS } from '../support/snapshots/snapshot-builder.js';
import { brief, imported } from './imported.js';
import { withinBudget } from '../support/rules/within-budget.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { type Node, nodeOf, nodeText } from '../../src/trino-rules/model/node.js';
import { restrictsTableIn } from '../../src/trino-rules/model/restrictions.js';
import { readSnapshot, writeSnapshot } from '../../src/trino-rules/model/snapshot-file.js';
import { isLive, type Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { type PolicyPrincipal, principalText } from '../../src/trino-rules/model/principal.js';

const nodes = ({ snapshot }: { snapshot: Snapshot }) =>
  snapshot.grants.map(({ resource: { catalog, schema, table } }) =>
    [catalog, schema, table].filter((name) => name !== undefined).join('.'),
  );

/**
 * Whether somebody owns a table beside a restricted one. The schema is closed for that, and where no rule shows the restricted table
 * the import reads a deny on the whole schema: the ownership is lost, and reported.
 */
const ownsBesideRestriction = ({ grants, policies }: Snapshot): boolean =>
  grants.some(
    ({ resource: { catalog, schema, table }, privileges }) =>
      table !== undefined &&
      privileges.some((privilege) => ['OWNERSHIP', 'TABLE_OWNERSHIP'].includes(privilege)) &&
      policies.some((policy) => restrictsTableIn(nodeOf({ catalog, schema }), policy)),
  );

/**
 * Whether somebody may lose reading and keep writing: a rule that closes companions to those is taken for one about other names, so
 * that what is written is lost, and reported.
 */
const writesUnread = ({ policies }: Snapshot): boolean =>
  policies.some(
    (policy) =>
      policy.kind === 'deny' &&
      policy.privileges.includes('SELECT') &&
      (['INSERT', 'DELETE', 'UPDATE'] as const).some((each) => !policy.privileges.includes(each)),
  );

/** Whether a restriction names a companion or a column of the storage: beside other rules the import may lose a grant, and says so. */
const restrictsStorage = ({ policies }: Snapshot): boolean =>
  policies.some(({ resource }) =>
    [resource.table, 'column' in resource ? resource.column : undefined].some((name) => name?.includes('$')),
  );

/**
 * Whether a deny may take everything at a table without naming SELECT. Its companions stay open then, but the import reads a table without
 * privileges as closed with its companions, and says so.
 */
const leavesCompanions = ({ policies }: Snapshot): boolean =>
  policies.some((policy) => policy.kind === 'deny' && !policy.privileges.includes('SELECT'));

describe('the import of rules', () => {
  it('means the same for everyone, of whatever was compiled, with hardly more grants', () => {
    const rows = { written: 0, imported: 0 };
    fc.assert(
      fc.property(anySnapshotOfData(), (snapshot) => {
        fc.pre(!ownsBesideRestriction(snapshot) && !writesUnread(snapshot) && !restrictsStorage(snapshot));
        const names = snapshot.users.map(({ name }) => name);
        const { findings, snapshot: again } = imported(compile(snapshot).text, names, snapshot.settings);
        // No list of people has engine principals.
        const isOfOthers = (code: string) => ['import-users-missing', 'import-newcomers'].includes(code);
        const isOfCompanions = (code: string) => code === 'import-doors' && leavesCompanions(snapshot);
        expect(findings.filter(({ code }) => !isOfOthers(code) && !isOfCompanions(code))).toEqual([]);
        rows.written += snapshot.grants.filter((grant) => isLive(grant, snapshot.at)).length;
        rows.imported += again.grants.length;
      }),
      { numRuns: runs(200) },
    );
    // As somebody would have written it.
    expect(rows.imported / rows.written).toBeLessThan(1.2);
  });

  it('gives users who are named what groups of the list have, in no more grants than somebody wrote for these', () => {
    const written = skewedSnapshot(SIZES.team, 'numbered');
    const users = written.users.map(({ id, name }) => ({
      name,
      groups: written.groups.flatMap((group) => (group.members.includes(id) ? [group.name] : [])),
    }));
    const { findings, snapshot } = imported(compile(written).text, users, written.settings);
    expect(findings).toEqual([]);
    expect(snapshot.grants.length).toBeLessThanOrEqual(written.grants.length);
  });

  it('writes what can be read again, of any document', () => {
    fc.assert(
      fc.property(anyRules(), (document) => {
        const snapshot = withinBudget(() => imported(JSON.stringify(document), ['a', 'ab', 'b0', 'x$']))?.snapshot;
        fc.pre(snapshot !== undefined);
        expect(readSnapshot(writeSnapshot(snapshot), { settings: SETTINGS, at: NOW })).toMatchObject({ kind: 'read' });
      }),
      { numRuns: runs(25) },
    );
  });

  it('gives everyone what the file gives everybody, and takes from one who has less', () => {
    const rules = {
      catalogs: [{ catalog: 'sales', allow: 'all' }],
      schemas: [],
      tables: [
        { user: 'cy', catalog: 'sales', schema: 'hr', privileges: [] },
        { catalog: 'sales', schema: 'hr', table: 'salaries', privileges: [] },
        { catalog: 'sales', privileges: ['SELECT'] },
      ],
      queries: [{ allow: ['execute'] }],
    };
    const { snapshot } = imported(JSON.stringify(rules), ['ana', 'bo', 'cy']);
    expect(snapshot.groups).toEqual([]);
    expect(snapshot.grants).toMatchObject([
      { principal: { type: 'everyone' }, resource: { catalog: 'sales' }, privileges: ['SELECT'] },
    ]);
    expect(snapshot.policies).toMatchObject([
      { principal: { type: 'everyone' }, resource: { catalog: 'sales', schema: 'hr', table: 'salaries' } },
      // No rule gives it.
      { principal: { type: 'everyone' }, resource: { catalog: 'system' } },
      { principal: { type: 'user', id: 3 }, resource: { catalog: 'sales', schema: 'hr' } },
    ]);
  });

  it('gives less at names that an open pattern may match', () => {
    const rules = {
      catalogs: [{ catalog: 'sales', allow: 'all' }],
      tables: [
        { catalog: 'sales', schema: 'eu', table: 'secret_.*', privileges: [] },
        { catalog: 'sales', schema: 'eu', table: 'orders', privileges: ['SELECT'] },
        { catalog: 'sales', schema: 'eu', privileges: ['SELECT'] },
      ],
      queries: [{ allow: ['execute'] }],
    };
    const result = imported(JSON.stringify(rules), ['ana']);
    // Everybody owns the schemas that no section is about.
    expect(nodes(result)).toEqual(['sales', 'sales.eu.orders']);
    expect(brief(result)).toContain('tables[2] import-lost ana: SELECT from sales.eu.(any other table)');
  });

  it('gives rights to functions and procedures on the widest node, and none beside a restriction', () => {
    const rules = {
      catalogs: [{ catalog: 'lake|erp', allow: 'all' }],
      schemas: [],
      tables: [
        { catalog: 'erp', schema: 'hr', privileges: ['SELECT'], filter: 'owner = current_user' },
        { catalog: 'lake', privileges: ['SELECT'] },
      ],
      queries: [{ allow: ['execute'] }],
      functions: [
        { catalog: 'lake', schema: 'tools', function: 'secret.*', privileges: [] },
        { catalog: 'lake', schema: 'tools', function: 'clean', privileges: ['EXECUTE'] },
        { catalog: 'lake', schema: 'tools', privileges: ['EXECUTE'] },
        { catalog: 'erp', privileges: ['EXECUTE'] },
      ],
      procedures: [{ catalog: 'lake', schema: 'system|audit', privileges: ['EXECUTE'] }],
    };
    const result = imported(JSON.stringify(rules), ['ana']);
    expect(result.snapshot.grants.map(({ resource, privileges }) => [nodeText(resource), ...privileges])).toEqual([
      ['erp.hr', 'SELECT'],
      ['lake', 'SELECT'],
      ['lake.audit', 'CALL_PROCEDURE'],
      ['lake.system', 'CALL_PROCEDURE'],
      ['lake.tools.clean', 'EXECUTE_FUNCTION'],
    ]);
    expect(result.snapshot.policies).toMatchObject([
      { kind: 'row_filter', expression: 'owner = current_user' },
      { kind: 'deny', principal: { type: 'everyone' }, resource: { catalog: 'system' } },
    ]);
    expect(result.findings.map(({ rule }) => rule)).toEqual(expect.arrayContaining(['functions[2]', 'functions[3]']));
  });

  it('gives functions in schemas that a listing has, and says of which names it gives none', () => {
    const rules = {
      catalogs: [{ catalog: 'lake', allow: 'all' }],
      schemas: [],
      tables: [{ catalog: 'lake', schema: 'sales', privileges: ['SELECT'] }, { privileges: [] }],
      queries: [{ allow: ['execute'] }],
      functions: [
        { catalog: 'lake', schema: 'tools', function: 'norm_.*', privileges: ['EXECUTE'] },
        { catalog: 'lake', schema: 'udf_.*', privileges: ['EXECUTE'] },
      ],
      procedures: [],
    };
    const result = imported(JSON.stringify(rules), ['ana'], SETTINGS, [{ catalog: 'lake', schema: 'udf_eu' }]);
    expect(nodes(result)).toEqual(['lake.sales', 'lake.udf_eu']);
    const lost = result.findings.filter(({ code }) => code === 'import-lost');
    expect(lost.map(({ rule, what, why }) => [rule, what, why])).toEqual([
      [
        'functions[0]',
        ['EXECUTE the function lake.tools.norm_…'],
        expect.stringContaining('write the names that the pattern matches') as string,
      ],
      [
        'functions[1]',
        ['EXECUTE the function lake.udf_….(any other routine)'],
        expect.stringContaining('routines are granted by name') as string,
      ],
    ]);
  });

  it('keeps what is named in a catalog whose unnamed parts would get more', () => {
    const rules = {
      catalogs: [{ catalog: 'dev', allow: 'all' }],
      schemas: [
        { catalog: 'dev', schema: 'build', owner: true },
        { catalog: 'dev', schema: '(?!landing).*', owner: true },
      ],
      tables: [{ catalog: 'dev', privileges: ['SELECT', 'OWNERSHIP'] }],
      queries: [{ allow: ['execute'] }],
    };
    const { snapshot } = imported(JSON.stringify(rules), ['ana']);
    const given = snapshot.grants.map(({ resource, privileges }) => [nodeText(resource), privileges]);
    expect(given).toEqual([['dev.build', ['SELECT', 'OWNERSHIP']]]);
  });

  it('gives routines of everything beside catalogs where a restriction wins and the file gives none', () => {
    const rules = {
      catalogs: [{ allow: 'all' }],
      schemas: [],
      tables: [
        { catalog: 'erp', schema: 'hr', privileges: ['SELECT'], filter: 'owner = current_user' },
        { privileges: ['SELECT'] },
      ],
      queries: [{ allow: ['execute'] }],
      functions: [{ catalog: 'erp', privileges: [] }, { privileges: ['EXECUTE'] }],
    };
    const { snapshot, findings } = imported(JSON.stringify(rules), ['ana']);
    const given = snapshot.grants.filter(({ privileges }) => privileges.includes('EXECUTE_FUNCTION'));
    expect(given.map(({ resource }) => resource)).toEqual([{}]);
    const lost = findings.flatMap(({ what }) => what).filter((each) => each.includes('EXECUTE the function'));
    // Closed to grants.
    expect(lost.filter((each) => !/ (?:grantline|system)[.]/.test(each))).toEqual([]);
  });

  it("gives rights over all others' queries, or over those of whom the list has; system information is written by name", () => {
    const rules = {
      catalogs: [{ catalog: 'lake', allow: 'all' }],
      schemas: [],
      tables: [{ catalog: 'lake', privileges: ['SELECT'] }],
      queries: [
        { queryOwner: 'etl_.*', allow: ['view'] },
        { queryOwner: '.*', allow: ['view', 'kill'] },
        { allow: ['execute'] },
      ],
      system_information: [{ allow: ['read', 'write'] }],
    };
    const { snapshot } = imported(JSON.stringify(rules), ['ana', 'bo']);
    expect(snapshot.grants).toMatchObject([
      { principal: { type: 'everyone' }, resource: { catalog: 'lake' } },
      {
        principal: { type: 'everyone' },
        resource: { engine: true },
        privileges: ['VIEW_QUERIES', 'READ_SYSTEM_INFORMATION'],
      },
      { principal: { type: 'everyone' }, resource: { queries: { type: 'group' } }, privileges: ['KILL_QUERIES'] },
      { principal: { type: 'user', id: 1 }, resource: { engine: true }, privileges: ['WRITE_SYSTEM_INFORMATION'] },
      { principal: { type: 'user', id: 2 }, resource: { engine: true }, privileges: ['WRITE_SYSTEM_INFORMATION'] },
    ]);
  });

  it('takes the queries of some whom the file spells out from a right over all', () => {
    const rules = {
      ...{ catalogs: [], schemas: [], tables: [] },
      queries: [
        { user: 'ops', queryOwner: 'ana|bo', allow: ['view'] },
        { user: 'ops', queryOwner: 'cy', allow: [] },
        { user: 'ops', queryOwner: '.*', allow: ['view', 'kill'] },
        { allow: ['execute'] },
      ],
    };
    const { snapshot } = imported(JSON.stringify(rules), ['ana', 'bo', 'cy', 'ops']);
    const ops = { type: 'user', id: 4 };
    expect(snapshot.grants).toMatchObject([
      { principal: { type: 'everyone' }, resource: { engine: true }, privileges: ['EXECUTE_QUERIES'] },
      { principal: ops, resource: { engine: true }, privileges: ['VIEW_QUERIES', 'KILL_QUERIES'] },
    ]);
    expect(snapshot.policies.filter(({ resource }) => resource.queries)).toMatchObject([
      { principal: ops, resource: { queries: { type: 'user', id: 3 } }, privileges: ['VIEW_QUERIES'] },
      { principal: ops, resource: { queries: { type: 'group', id: 1 } }, privileges: ['KILL_QUERIES'] },
    ]);
    expect(snapshot.groups).toMatchObject([{ members: [1, 2, 3] }]);
  });

  it('gives everything to whom every catalog is open, and takes the catalogs that have less', () => {
    const rules = {
      catalogs: [{ catalog: 'vault', allow: 'none' }, { allow: 'all' }],
      schemas: [{ user: 'root', owner: true }],
      tables: [
        { catalog: 'erp', schema: 'hr', privileges: [] },
        { user: 'root', catalog: 'dev_.*', privileges: ['SELECT', 'INSERT', 'DELETE'] },
        { user: 'root', privileges: ['SELECT', 'INSERT'] },
        { user: 'ana', catalog: 'lake', table: 'secret', privileges: [] },
        { user: 'ana', catalog: 'secret_.*', privileges: [] },
        { user: 'ana', catalog: 'lake', privileges: ['SELECT'] },
        { privileges: ['SELECT'] },
      ],
      queries: [{ allow: ['execute'] }],
      functions: [{ user: 'ana', privileges: ['EXECUTE'] }],
    };
    const { snapshot } = imported(JSON.stringify(rules), ['root', 'ana']);
    const written = (rows: readonly { resource: Node; privileges: readonly string[]; principal: PolicyPrincipal }[]) =>
      rows.map(
        ({ principal, resource, privileges }) =>
          `${principalText(principal)} ${nodeText(resource) || 'everything'}: ${privileges.join(' ')}`,
      );
    expect(written(snapshot.grants)).toEqual([
      'user:1 everything: SELECT INSERT SCHEMA_OWNERSHIP',
      // Any catalog that is added could be one of those that a pattern shuts.
      'user:2 erp: SELECT',
      'user:2 lake: EXECUTE_FUNCTION',
      'user:2 tpch: SELECT EXECUTE_FUNCTION',
      'everyone system: SELECT',
    ]);
    expect(written(snapshot.policies.filter((each) => each.kind === 'deny'))).toEqual([
      'everyone erp.hr: SELECT',
      'everyone vault: SELECT',
      'user:1 erp.hr: SELECT INSERT',
      'user:1 vault: SELECT INSERT',
    ]);
  });

  it('names no group as the list does where the file names users: who joins that has nothing of it', () => {
    const rules = {
      catalogs: [{ allow: 'read-only' }],
      schemas: [],
      tables: [
        { user: 'ana|bo', catalog: 'sales', privileges: ['SELECT'] },
        { user: 'cy|di', catalog: 'erp', privileges: ['SELECT'] },
        { user: 'ed|flo', catalog: 'lab', privileges: ['SELECT'] },
      ],
      queries: [{ allow: ['execute'] }],
    };
    const groups = {
      ana: ['sellers'],
      bo: ['sellers'],
      cy: ['staff'],
      di: ['staff'],
      ed: ['staff'],
      flo: ['imported-1'],
    };
    const users = Object.entries(groups).map(([name, of]) => ({ name, groups: of }));
    const { snapshot } = imported(JSON.stringify(rules), users);
    expect(snapshot.groups.map(({ name, members }) => [name, ...members])).toEqual([
      ['imported-2', 1, 2],
      ['imported-3', 3, 4],
      ['imported-4', 5, 6],
    ]);
  });

  it('says of combinations of groups that nobody is in what the smallest of them loses, and no larger one', () => {
    const rules = {
      catalogs: [{ group: 'owners|readers|clerks|guests', catalog: 'sales', allow: 'all' }],
      schemas: [],
      tables: [
        { group: 'owners', catalog: 'sales', privileges: ['SELECT', 'INSERT', 'DELETE'] },
        { group: 'readers', catalog: 'sales', schema: 'eu', table: 'orders', privileges: ['SELECT'], filter: 'id < 9' },
        { group: 'readers|clerks|guests', catalog: 'sales', schema: 'eu', privileges: ['SELECT'] },
      ],
      queries: [{ allow: ['execute'] }],
    };
    const users = ['owners', 'readers', 'clerks', 'guests'].map((group) => ({ name: `in-${group}`, groups: [group] }));
    const { findings } = imported(JSON.stringify(rules), users);
    const said = findings.filter(({ code }) => code === 'import-combinations').flatMap(({ what }) => what);

    expect(said).not.toEqual([]);
    expect(said.filter((line) => !line.startsWith('who joins owners and readers: '))).toEqual([]);
  });
});
