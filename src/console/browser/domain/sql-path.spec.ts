import { sqlPath } from './node-path.js';

describe('a path in SQL', () => {
  it.each([
    [['sales', 'eu', 'orders_2026'], 'sales.eu.orders_2026'],
    [['sales-eu', 'a.b', 'say "no"'], '"sales-eu"."a.b"."say ""no"""'],
    [['2026', 'Orders'], '"2026"."Orders"'],
    [[], ''],
  ])('of %j', (names, text) => expect(sqlPath(names)).toBe(text));
});
