import type { PolicyPrincipal } from '../../src/trino-rules/model/principal.js';
import type { ListedUser } from '../../src/rules-files/foreign/audiences.js';
import { brief, imported } from './imported.js';

describe('the import of impersonation', () => {
  const acting = (impersonation: object[], users: readonly ListedUser[], queries = [{ allow: ['execute'] }]) => {
    const tables = [{ user: 'ana|bo', catalog: 'lake', privileges: ['SELECT'] }];
    const rules = { catalogs: [{ allow: 'read-only' }], schemas: [], tables, queries, impersonation };
    const result = imported(JSON.stringify(rules), users);
    const { groups, grants, users: accounts } = result.snapshot;
    const nameOf = (named: PolicyPrincipal): string => {
      if (named.type === 'engine') return named.name;
      if (named.type === 'everyone') return 'everyone';
      const rows: readonly { id: number; name: string }[] = named.type === 'user' ? accounts : groups;
      return rows.find(({ id }) => id === named.id)?.name ?? '';
    };
    const acts = grants.flatMap(({ principal, resource: { as } }) =>
      as === undefined ? [] : [`${nameOf(principal)} as ${nameOf(as)}`],
    );
    return { acts, groups, findings: brief(result).filter((each) => each.includes('impersonate')) };
  };
  const person = (name: string, ...groups: string[]): ListedUser => ({ name, groups });
  const engine = (name: string, ...groups: string[]): ListedUser => ({ name, groups, isEngine: true });

  it('lets engine principals of the list act as others: as a group of these, and as everyone where they act as anybody', () => {
    const rules = [
      { original_user: 'bi', new_user: 'ana|bo' },
      { original_user: 'portal', new_user: 'ana' },
      { original_user: 'notebook', new_user: 'root', allow: false },
      { original_user: 'notebook' },
    ];
    const list = [person('ana', 'viewers'), person('bo', 'viewers'), person('cy')];
    const { acts, groups } = acting(rules, [...list, engine('bi'), engine('portal'), engine('notebook')]);
    expect(acts).toEqual(['bi as viewers', 'portal as ana', 'notebook as everyone']);
    // Those with the same access are that group already.
    expect(groups).toMatchObject([{ name: 'viewers' }, { name: 'imported-1', engines: ['bi', 'portal', 'notebook'] }]);
  });

  it('lets nobody act as one that acts as others, and no person act', () => {
    const rules = [
      { original_user: 'bi', new_user: 'portal|ana' },
      { original_user: 'portal', new_user: 'bo' },
      { original_user: 'cy', new_user: 'bo' },
    ];
    const list = [person('ana'), person('bo'), person('cy'), engine('bi'), engine('portal')];
    const { acts, findings } = acting(rules, list);
    expect(acts).toEqual(['bi as ana', 'portal as bo']);
    expect(findings).toEqual([
      'impersonation[0] import-lost bi: impersonate portal',
      'impersonation[2] import-lost cy: impersonate bo',
    ]);
  });

  it('lets act as others who executes no queries, and gives that program nothing else', () => {
    const queries = [{ user: 'ana', allow: ['execute'] }];
    const { acts, findings } = acting(
      [{ original_user: 'bi', new_user: 'ana' }],
      [person('ana'), engine('bi')],
      queries,
    );
    expect({ acts, findings }).toEqual({ acts: ['bi as ana'], findings: [] });
  });
});
