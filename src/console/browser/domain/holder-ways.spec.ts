import { wayKey, accessWaysOf } from './holder-ways.js';

const group = { id: 3, name: 'analysts' };
const via = (level: 'everything' | 'catalog' | 'schema' | 'table', part: object = {}) => ({
  grant_id: 1,
  group: null,
  level,
  expires_at: null,
  is_for_everyone: false,
  ...part,
});

describe('the ways of a holder', () => {
  it('say from which node above they come', () => {
    const ways = accessWaysOf([via('everything'), via('catalog'), via('schema'), via('table')], {
      catalog: 'sales',
      schema: 'eu',
      table: 'orders',
    });
    expect(ways.map(({ inheritedFrom }) => inheritedFrom)).toEqual([
      {},
      { catalog: 'sales' },
      { catalog: 'sales', schema: 'eu' },
      null,
    ]);
  });

  it('say through what', () => {
    const ways = accessWaysOf([via('catalog', { group }), via('catalog', { is_for_everyone: true }), via('catalog')], {
      catalog: 'sales',
    });
    expect(ways.map(({ through, inheritedFrom }) => [through, inheritedFrom])).toEqual([
      [{ group }, null],
      ['everyone', null],
      ['directly', null],
    ]);
  });

  it('have a key in the address', () => {
    expect([wayKey({ group }), wayKey({ group: null })]).toEqual(['group:3', 'directly']);
  });
});
