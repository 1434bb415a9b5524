import { addressOfNode, pathText } from './node-path.js';

const NODES: [object, string, string][] = [
  [{}, 'everything', '/data'],
  [{ catalog: 'sales' }, 'sales', '/data/sales'],
  [{ catalog: 'sales', schema: 'eu', table: 'a/b %' }, 'sales.eu.a/b %', '/data/sales/eu/a%2Fb%20%25'],
  [{ catalog: 'sales', schema: 'eu', routine: 'total' }, 'sales.eu.total', '/data/sales/eu'],
  [{ engine: true }, 'the engine', '/engine'],
  [{ as: { type: 'group', id: 3, name: 'viewers' } }, 'acting as viewers', '/engine'],
  [{ as: { type: 'group', id: 3 } }, 'acting as group 3', '/engine'],
  [{ as: { type: 'everyone' } }, 'acting as Everyone', '/engine'],
];

describe('a node', () => {
  it.each(NODES)('%j is called %s and has the page %s', (node, text, address) => {
    expect([pathText(node), addressOfNode(node)]).toEqual([text, address]);
  });
});
