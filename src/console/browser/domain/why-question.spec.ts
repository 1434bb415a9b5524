import { whyAddress } from './why-address.js';
import { prepositionOf, questionOfAddress } from './why-question.js';

const asked = (address: string) => questionOfAddress(new URLSearchParams(address.split('?')[1]));

describe('the question of Why', () => {
  it.each([
    [{ type: 'user', id: 4 }, 'SELECT', { catalog: 'sales', schema: 'eu', table: 'orders' }],
    [{ type: 'engine', name: 'airflow' }, 'EXECUTE_FUNCTION', { catalog: 'sales', schema: 'eu', routine: 'total' }],
    [{ type: 'group', id: 3 }, 'KILL_QUERIES', { engine: true }],
    [{ type: 'user', id: 4 }, 'IMPERSONATE', { as: { type: 'group', id: 3 } }],
  ])('comes back from its address: %j %s %j', (principal, privilege, node) => {
    expect(asked(whyAddress(principal, privilege, node))).toEqual({ principal, privilege, node });
  });

  it('is about SELECT on everything, of nobody yet', () => {
    expect(asked('/why?principal=x&privilege=DANCE')).toEqual({ principal: null, privilege: 'SELECT', node: {} });
  });

  it('is said in SQL', () => {
    const said = (['SELECT', 'INSERT', 'DELETE', 'UPDATE'] as const).map(prepositionOf);
    expect(said).toEqual(['from', 'into', 'from', 'on']);
  });
});
