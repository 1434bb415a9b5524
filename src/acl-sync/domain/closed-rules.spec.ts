import { aSnapshot, SETTINGS } from '../../../test/support/snapshots/snapshot-builder.js';
import { compile } from '../../trino-rules/compile/compile.js';
import { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { UserUniverse } from '../../trino-rules/engine/user-universe.js';
import { checkMarker } from '../../trino-rules/lint/marker-check.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { areShutOut, closedRules } from './closed-rules.js';

const { ownAccount } = SETTINGS;
const eu = { catalog: 'sales', schema: 'eu' };
const readers = () => aSnapshot().group('readers', ['ana', 'bo']).may('SELECT, EXECUTE_FUNCTION', 'sales.eu');
const anaLeft = (): Snapshot => {
  const snapshot = readers().snapshot();
  return { ...snapshot, groups: snapshot.groups.map((group) => ({ ...group, members: [2] })) };
};

function closed(document: RulesDocument, previous = readers().snapshot(), explained = anaLeft()) {
  const rules = closedRules(document, { previous, explained }, ownAccount);
  if (rules === null) throw new Error('the denials could not be checked');
  return rules;
}

describe('the check of denials', () => {
  const open: RulesDocument = { ...NO_RULES, catalogs: [{ user: 'ana', allow: 'none' }] };

  it.each<[string, Partial<RulesDocument>]>([
    ['enters a catalog', { catalogs: [{ user: 'ana', catalog: 'sales', allow: 'read-only' }, ...open.catalogs] }],
    ['enters what the engine itself opens', { catalogs: [{ user: 'ana', catalog: 'sales', allow: 'none' }] }],
    ['executes queries', { queries: [{ user: 'ana', allow: ['execute'] }] }],
    ['sees the queries of others', { queries: [{ user: 'ana', allow: ['view'] }] }],
    ['shuts nodes down', { system_information: [{ user: 'ana', allow: ['write'] }] }],
    ['sets properties', { system_session_properties: [{ allow: true }] }],
    ['acts as others', { impersonation: [{ original_user: 'ana', new_user: '.*', allow: true }] }],
    ['is acted as', { impersonation: [{ new_user: 'ana', allow: true }] }],
  ])('finds that one of two %s', (_, rules) => {
    const catalogs = [{ user: 'bo', allow: 'none' as const }, ...(rules.catalogs ?? open.catalogs)];
    expect(areShutOut({ ...open, ...rules, catalogs }, ['bo'])).toBe(rules.system_session_properties === undefined);
    expect(areShutOut({ ...open, ...rules, catalogs }, ['bo', 'ana'])).toBe(false);
  });
});

describe('the published rules with denials in front', () => {
  it('give nothing at all to whoever lost something, and to others what they did', () => {
    const { document } = compile(readers().user('ana').may('SELECT, OWNERSHIP', 'hr').snapshot());
    const engine = new Evaluator(
      closed({ ...document, procedures: [{ catalog: 'sales', privileges: ['EXECUTE'] }] }).document,
    );
    const rights = (user: string): unknown[] => [
      engine.maySelect(user, { ...eu, table: 'orders' }, []),
      engine.mayRead(user, 'hr'),
      ...(['function', 'procedure'] as const).map((kind) =>
        engine.mayRun(user, { kind, resource: { ...eu, routine: 'load' }, privilege: 'EXECUTE' }),
      ),
      engine.mayWithQueries(user, 'execute'),
      engine.mayImpersonate(ownAccount, user),
    ];
    expect(rights('ana')).toEqual([false, false, false, false, false, false]);
    expect(rights('bo')).toEqual([true, false, true, true, true, true]);
  });

  it('never shut out the account that asks for their version, whatever it lost', () => {
    const loses = (name: string) => aSnapshot().engine(name).may('SELECT', 'sales').snapshot();
    const { document } = compile(readers().snapshot());
    const was = { ...loses(ownAccount), settings: { ...SETTINGS, serviceAccounts: ['other'], ownAccount: 'other' } };
    const { text } = closed(document, was, { ...was, grants: [] });
    expect(text).toBe(compile(readers().snapshot()).text);
  });

  it.each([
    ['as the compiler writes it', compile(readers().snapshot()).document],
    ['without a marker', { ...NO_RULES, system_session_properties: [{ user: ownAccount, allow: true }] }],
  ])('name their own version to the account that asks for it, in a text %s', (_, document) => {
    const rules = closed(document);
    const users = new UserUniverse([ownAccount], [rules.document], new PatternCache());
    expect(checkMarker(rules.text, rules.document, ownAccount, users)).toEqual([]);
    expect(rules.text).toContain(rules.hash);
  });
});
