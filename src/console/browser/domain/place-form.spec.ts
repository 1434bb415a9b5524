import { NO_PLACE, nodeOfForm, offeredAt, placeOfNode } from './place-form.js';

describe('the fields of a node', () => {
  it.each([
    {},
    { catalog: 'sales' },
    { catalog: 'sales', schema: 'eu', table: 'orders' },
    { catalog: 'sales', schema: 'eu', routine: 'total' },
    { engine: true as const },
    { as: { type: 'group' as const, id: 3 } },
  ])('hold %j', (node) => {
    expect(nodeOfForm(placeOfNode(node))).toEqual(node);
  });

  it('name nothing below what is empty', () => {
    expect(nodeOfForm({ ...NO_PLACE, schema: 'eu', table: 'orders' })).toEqual({});
    expect(nodeOfForm({ ...NO_PLACE, place: 'routine', catalog: 'sales', schema: 'eu', table: 'orders' })).toEqual({
      catalog: 'sales',
      schema: 'eu',
    });
  });

  it('offer what a whole node has, before it is whole', () => {
    expect(nodeOfForm({ ...NO_PLACE, place: 'acting' })).toBeNull();
    expect(offeredAt({ ...NO_PLACE, place: 'acting' })).toEqual({ as: { type: 'everyone' } });
    expect(offeredAt({ ...NO_PLACE, place: 'routine' })).toHaveProperty('routine');
  });
});
