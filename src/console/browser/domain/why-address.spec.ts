import { whyLost } from './why-address.js';

const ana = { type: 'user', id: 4 };

describe('why something is lost', () => {
  it.each([
    ['SELECT from sales.eu.orders', '/why?principal=user%3A4&privilege=SELECT&catalog=sales&schema=eu&table=orders'],
    ['INSERT into sales.eu.*', '/why?principal=user%3A4&privilege=INSERT&catalog=sales&schema=eu'],
    ['OWNERSHIP on sales.*.*', '/why?principal=user%3A4&privilege=OWNERSHIP&catalog=sales'],
  ])('%s', (what, address) => expect(whyLost(what, ana)).toBe(address));

  it.each(['may kill queries', 'SELECT from a.b.c.d', ''])('has no address: %s', (what) => {
    expect(whyLost(what, ana)).toBeNull();
  });
});
