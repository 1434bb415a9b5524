import { NO_RULES, type RulesDocument } from '../document/rules-document.js';
import { areShutOut } from './denials.js';

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
