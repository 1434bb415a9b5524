import fc from 'fast-check';
import { anyRecordedChanges, explained } from '../../../test/support/snapshots/recorded-changes.js';
import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { compile } from '../../trino-rules/compile/compile.js';
import { compareAccess } from '../../trino-rules/diff/access-change.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { checkMarker } from '../../trino-rules/lint/marker-check.js';
import { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { UserUniverse } from '../../trino-rules/engine/user-universe.js';
import { effective } from '../../trino-rules/model/effective-snapshot.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { closedRules, isClosed } from './closed-rules.js';
import { type RevokedAccess, revokedAccess } from './revoked-access.js';
import { withdrawal } from './withdrawal.js';

const ACCOUNT = 'service-account-grantline';

/** Two people who read two schemas, and may run functions and procedures there. */
const published = (): RulesDocument => {
  const story = aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'sales.eu').may('SELECT', 'sales.us');
  const { document } = compile(story.snapshot());
  return {
    ...document,
    functions: [{ user: 'ana|bo', catalog: 'sales', privileges: ['EXECUTE'] }],
    procedures: [{ user: 'ana|bo', catalog: 'sales', schema: 'eu|us', procedure: 'load', privileges: ['EXECUTE'] }],
  };
};
const losing = (nodes: RevokedAccess['nodes'], withoutAccess: string[] = []): RevokedAccess => ({
  nodes,
  routines: [],
  queries: [],
  acting: [],
  withoutAccess,
});
const eu = { catalog: 'sales', schema: 'eu' };
const us = { catalog: 'sales', schema: 'us' };

function closed(losses: RevokedAccess, document = published()): Evaluator {
  const rules = closedRules(document, losses, ACCOUNT);
  if (rules === null) throw new Error('the denials could not be checked');
  return new Evaluator(rules.document);
}

/** What the person can do in the schema. */
const rightsIn = (engine: Evaluator, user: string, schema: { catalog: string; schema: string }): string[] => [
  ...(engine.maySelect(user, { ...schema, table: 'orders' }, []) ? ['select'] : []),
  ...(engine.mayRun(user, { kind: 'function', resource: { ...schema, routine: 'sum_up' }, privilege: 'EXECUTE' })
    ? ['function']
    : []),
  ...(engine.mayRun(user, { kind: 'procedure', resource: { ...schema, routine: 'load' }, privilege: 'EXECUTE' })
    ? ['procedure']
    : []),
];
const EVERYTHING = ['select', 'function', 'procedure'];

/** The schemas and tables that the person owns. */
function ownedBy(engine: Evaluator, user: string): string[] {
  const tables = [eu, us].flatMap((schema) => ['orders', 'items'].map((table) => ({ ...schema, table })));
  const owned = [
    ...[eu, us].filter((schema) => engine.ownsSchema(user, schema)),
    ...tables.filter((table) => engine.mayUse(user, 'OWNERSHIP', table)),
  ];
  return owned.map((node) => Object.values(node).join('.'));
}

type Story = ReturnType<typeof aSnapshot>;

describe('the check of denials', () => {
  const orders = { ...eu, table: 'orders' };
  const nothing: RulesDocument = {
    ...NO_RULES,
    catalogs: [{ user: 'ana', catalog: 'sales', allow: 'all' }],
    schemas: [{ user: 'ana', owner: false }],
    tables: [{ user: 'ana', privileges: [] }],
  };
  const select: RulesDocument['tables'] = [{ user: 'ana', catalog: 'sales', schema: 'eu', privileges: ['SELECT'] }];
  const execute = { user: 'ana', catalog: 'sales', privileges: ['EXECUTE' as const] };

  it.each([
    [
      'everything that cannot be entered',
      {},
      { ...nothing, catalogs: [{ user: 'ana|bo', allow: 'none' as const }, ...nothing.catalogs] },
    ],
    ['a catalog that cannot be read', { catalog: 'sales' }, { ...nothing, catalogs: [], tables: select }],
    ['a schema without rights', eu, nothing],
    ['a table without privileges', orders, nothing],
    ['a table of which no rule is', orders, { ...nothing, tables: [] }],
  ])('finds %s closed', (_, resource, rules) => {
    expect(isClosed(rules, losing([{ resource, names: ['ana'] }]))).toBe(true);
  });

  it.each([
    ['everything, by a catalog', {}, { ...nothing, catalogs: [...nothing.catalogs, { allow: 'none' as const }] }],
    ['everything, by the engine itself', {}, { ...nothing, catalogs: [] }],
    ['a catalog', { catalog: 'sales' }, nothing],
    ['a table', orders, { ...nothing, tables: select }],
    ['the tables of a schema', eu, { ...nothing, tables: select }],
    ['a table in an own schema', orders, { ...nothing, schemas: [{ user: 'ana', owner: true }] }],
    ['an own schema', eu, { ...nothing, schemas: [{ user: 'ana', owner: true }] }],
    ['the functions of a schema', eu, { ...nothing, functions: [execute] }],
    ['the procedures of a schema', eu, { ...nothing, procedures: [execute] }],
  ])('finds %s open, for one of two people', (_, resource, rules) => {
    expect(isClosed(rules, losing([{ resource, names: ['bo', 'ana'] }]))).toBe(false);
  });

  it('finds that somebody without access still executes queries', () => {
    const executing: RulesDocument = { ...nothing, queries: [{ user: 'ana', allow: ['execute'] }] };
    expect(isClosed(executing, losing([], ['bo', 'ana']))).toBe(false);
    const shutting: RulesDocument = { ...nothing, system_information: [{ user: 'ana', allow: ['write'] }] };
    expect(isClosed(shutting, losing([], ['bo', 'ana']))).toBe(false);
    expect(isClosed(nothing, losing([], ['bo', 'ana']))).toBe(true);
  });

  it('finds that somebody can still be acted as, or that their queries are still seen', () => {
    const acting: RevokedAccess = { ...losing([]), acting: [{ actor: 'dash', names: ['bo', 'ana'] }] };
    const asAna = [{ original_user: 'dash', new_user: 'ana', allow: true }];
    expect(isClosed({ ...nothing, impersonation: asAna }, acting)).toBe(false);
    expect(isClosed({ ...nothing, impersonation: asAna.map((rule) => ({ ...rule, allow: false })) }, acting)).toBe(
      true,
    );
    const seeing: RevokedAccess = { ...losing([]), queries: [{ user: 'dee', owners: ['dee', 'ana'] }] };
    for (const allow of ['view', 'kill'] as const)
      expect(isClosed({ ...nothing, queries: [{ user: 'dee', queryOwner: 'ana', allow: [allow] }] }, seeing)).toBe(
        false,
      );
    expect(isClosed({ ...nothing, queries: [{ user: 'dee', allow: ['execute'] }] }, seeing)).toBe(true);
  });
});

describe('the published rules with denials in front', () => {
  it('close a schema, with its functions and procedures, to those who lose it alone', () => {
    const engine = closed(losing([{ resource: eu, names: ['ana'] }]));
    expect(rightsIn(engine, 'ana', eu)).toEqual([]);
    expect(rightsIn(engine, 'ana', us)).toEqual(EVERYTHING);
    expect(rightsIn(engine, 'bo', eu)).toEqual(EVERYTHING);
  });

  it('close a table, and leave the rest of its schema', () => {
    const engine = closed(losing([{ resource: { ...eu, table: 'orders' }, names: ['ana'] }]));
    expect(rightsIn(engine, 'ana', eu)).toEqual(['function', 'procedure']);
    expect(engine.maySelect('ana', { ...eu, table: 'items' }, [])).toBe(true);
  });

  it('close a routine, and leave the tables and the other routines of its schema', () => {
    const engine = closed(losing([{ resource: { ...eu, routine: 'sum_up' }, names: ['ana'] }]));
    expect(rightsIn(engine, 'ana', eu)).toEqual(['select', 'procedure']);
    expect(rightsIn(engine, 'bo', eu)).toEqual(EVERYTHING);
  });

  it('close a catalog with all that is in it', () => {
    const engine = closed(losing([{ resource: { catalog: 'sales' }, names: ['ana', 'bo'] }]));
    for (const name of ['ana', 'bo']) expect(rightsIn(engine, name, us)).toEqual([]);
  });

  it.each([
    ['a filter on a table', (story: Story) => story.seesOnly('sales.eu.orders', 'true'), ['select']],
    ['a deny of its own', (story: Story) => story.mayNot('sales.eu.sum_up()'), ['select', 'procedure']],
  ])('run nothing that %s takes', (_, restrict, left) => {
    const story = () => aSnapshot().user('ana').may('SELECT, EXECUTE_FUNCTION, CALL_PROCEDURE', 'sales');
    const [previous, next] = [story().snapshot(), restrict(story()).snapshot()];
    const losses = revokedAccess(previous, next);
    const engine = closed(losses, compile(previous).document);
    expect(rightsIn(engine, 'ana', eu).filter((right) => !left.includes(right))).toEqual([]);
    expect(losses.withoutAccess).toEqual([]);
  });

  it.each<[string, (previous: Snapshot, next: Snapshot) => Evaluator]>([
    ['denials', (previous, next) => closed(revokedAccess(previous, next), compile(previous).document)],
    ['a withdrawal', (previous, next) => new Evaluator(compile(withdrawal(previous, next)).document)],
  ])('take, by %s, the ownership of a newly filtered table and of its schema, and no other', (_, engineOf) => {
    const story = () => aSnapshot().group('owners', ['ana', 'bo']).may('SELECT, OWNERSHIP', 'sales');
    const engine = engineOf(story().snapshot(), story().user('ana').seesOnly('sales.eu.orders', 'true').snapshot());
    expect(ownedBy(engine, 'ana')).toEqual(['sales.us', 'sales.eu.items', 'sales.us.orders', 'sales.us.items']);
    expect(ownedBy(engine, 'bo')).toEqual([
      ...['sales.eu', 'sales.us'],
      ...['sales.eu.orders', 'sales.eu.items', 'sales.us.orders', 'sales.us.items'],
    ]);
    expect(engine.maySelect('ana', { ...eu, table: 'items' }, [])).toBe(true);
  });

  const filtered = (story: Story) => story.seesOnly('sales.eu.orders', 'true');
  it.each<[string, string, (story: Story) => Story, (story: Story) => Story]>([
    ['a filter on a table', 'SCHEMA_OWNERSHIP', (story) => story, filtered],
    ['a deny on a table', 'SCHEMA_OWNERSHIP', (story) => story, (story) => story.mayNot('sales.eu.orders', 'INSERT')],
    ['a filter of before, and a revoke', 'SCHEMA_OWNERSHIP', (story) => filtered(story).may('SELECT', 'hr'), filtered],
    [
      'a filter of before on the schema, and a revoke',
      'OWNERSHIP',
      (story) => story.seesOnly('sales.eu', 'true').may('SELECT', 'hr'),
      (story) => story.seesOnly('sales.eu', 'true'),
    ],
  ])('let nobody execute anything who has only ownership that %s takes', (_, ownership, was, is) => {
    const [previous, next] = [was, is].map((change) =>
      change(aSnapshot().user('ana').may(ownership, 'sales.eu')).snapshot(),
    ) as [Snapshot, Snapshot];
    const losses = revokedAccess(previous, next);
    expect(losses.withoutAccess).toEqual(['ana']);
    expect(closed(losses, compile(previous).document).mayWithQueries('ana', 'execute')).toBe(false);
  });

  it('shut the catalog to who may run something there in name alone', () => {
    const story = aSnapshot().user('ana').may('SELECT', 'sales.eu').may('EXECUTE_FUNCTION', 'sales').mayNot('sales.hr');
    const previous = story.snapshot();
    const next = { ...previous, grants: previous.grants.slice(1) };
    expect(revokedAccess(previous, next)).toMatchObject({ withoutAccess: ['ana'] });
  });

  it('let nobody execute anything who has no access left', () => {
    const engine = closed(losing([], ['ana']));
    expect(rightsIn(engine, 'ana', us)).toEqual([]);
    expect(engine.mayWithQueries('ana', 'execute')).toBe(false);
    expect(engine.mayImpersonate(ACCOUNT, 'ana')).toBe(false);
    expect(engine.mayWithQueries('bo', 'execute')).toBe(true);
  });

  it.each([
    ['as the compiler writes it', published()],
    ['without a marker', { ...published(), system_session_properties: [{ user: ACCOUNT, allow: true }] }],
  ])('name their own version to the account that asks for it, in a text %s', (_, document) => {
    const rules = closedRules(document, losing([{ resource: eu, names: ['ana'] }]), ACCOUNT);
    if (rules === null) throw new Error('the denials could not be checked');
    const users = new UserUniverse([ACCOUNT], [rules.document], new PatternCache());
    expect(checkMarker(rules.text, rules.document, ACCOUNT, users)).toEqual([]);
    expect(rules.text).toContain(rules.hash);
  });

  it('give nothing that the published rules or the recorded changes deny', () => {
    fc.assert(
      fc.property(anyRecordedChanges('anything'), (changed) => {
        const previous = effective(changed.previous);
        const published = compile(previous).document;
        const { ownAccount } = previous.settings;
        const closed = closedRules(published, revokedAccess(previous, explained(changed)), ownAccount);
        const recorded = compile(effective(explained(changed))).document;
        expect(closed).not.toBeNull();
        for (const document of [published, recorded])
          expect(compareAccess(document, closed?.document ?? published)).toMatchObject({ gained: [] });
      }),
      { numRuns: 25 },
    );
  });
});
