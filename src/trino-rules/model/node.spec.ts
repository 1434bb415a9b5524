import fc from 'fast-check';
import {
  compareNodes,
  covers,
  depth,
  kindOf,
  levelOf,
  type Node,
  nodeKey,
  nodeOf,
  nodeText,
  parentOf,
  pathTo,
} from './node.js';

const name = fc.constantFrom('a', 'b', 'a_b', 'é');
const inTree: fc.Arbitrary<Node> = fc
  .array(name, { maxLength: 3 })
  .map(([catalog, schema, table]) => nodeOf({ catalog, schema, table }));
const routine = fc.tuple(name, name, name).map(([catalog, schema, routine]) => nodeOf({ catalog, schema, routine }));
const beside: fc.Arbitrary<Node> = fc.constantFrom<Node[]>(
  { engine: true },
  { as: { type: 'everyone' } },
  { as: { type: 'user', id: 1 } },
  { as: { type: 'engine', name: 'a' } },
);
const anyNode = fc.oneof({ weight: 4, arbitrary: inTree }, routine, beside);

describe('a node', () => {
  it('is on the path from the root to each node that it covers', () => {
    fc.assert(
      fc.property(anyNode, anyNode, (wide, node) => {
        const keys = pathTo(node).map(nodeKey);
        expect(covers(wide, node)).toBe(keys.includes(nodeKey(wide)));
      }),
    );
  });

  it('stands on its path behind its parent, one level deeper', () => {
    fc.assert(
      fc.property(anyNode, (node) => {
        const path = pathTo(node);
        const isNonDataNode = ['engine', 'acting'].includes(kindOf(node));
        expect(path[0]).toEqual(isNonDataNode ? node : {});
        expect(path.at(-1)).toEqual(node);
        expect(path.at(-2) ?? null).toEqual(parentOf(node));
        expect(path.map(depth)).toEqual([...path.keys()]);
      }),
    );
  });

  it('sorts before all nodes that it covers, and like itself alone', () => {
    fc.assert(
      fc.property(anyNode, anyNode, (one, other) => {
        expect(compareNodes(one, other) === 0).toBe(nodeKey(one) === nodeKey(other));
        expect(Math.sign(compareNodes(one, other))).toBe(-Math.sign(compareNodes(other, one)) + 0);
        if (covers(one, other)) expect(compareNodes(one, other)).toBeLessThanOrEqual(0);
      }),
    );
  });

  it('is named by its names alone', () => {
    const masked = { catalog: 'sales', schema: 'eu', column: 'id' };
    expect(nodeOf({ ...masked, table: undefined })).toEqual({ catalog: 'sales', schema: 'eu' });
    expect([nodeText(masked), levelOf(masked)]).toEqual(['sales.eu', 'schema']);
    expect([nodeText({}), levelOf({})]).toEqual(['', null]);
  });
});
