import { nearest } from './node-path.js';

const of = (...paths: string[]) =>
  paths.map((path) => {
    const [catalog = '', schema, table] = path.split('.');
    return { resource: { catalog, ...(schema !== undefined && { schema }), ...(table !== undefined && { table }) } };
  });

describe('the nearest entries', () => {
  it('share the longest path, and stand in their order otherwise', () => {
    const entries = of('hr', 'sales.us', 'sales.eu.orders', 'sales.eu', 'lake.raw');
    expect(nearest({ catalog: 'sales', schema: 'eu', table: 'lines' }, entries)).toEqual(
      of('sales.eu.orders', 'sales.eu', 'sales.us', 'hr', 'lake.raw'),
    );
  });

  it('are five at most', () => {
    expect(nearest({}, of('a', 'b', 'c', 'd', 'e', 'f'))).toEqual(of('a', 'b', 'c', 'd', 'e'));
  });
});
