import fc from 'fast-check';
import { addressKey } from './throttle.store.js';

describe('the address that is counted', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2:ffff::', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('of %s is %s', (address, counted) => expect(addressKey(address)).toBe(counted));

  it('is one for a whole IPv6 network of 64 bits, however it is written, and another for every other network', () => {
    const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
    const written = (address: number[], width: number): string =>
      address.map((group) => group.toString(16).padStart(width, '0')).join(':');
    fc.assert(
      fc.property(groups, groups, fc.nat(4), (one, other, width) => {
        const neighbour = [...one.slice(0, 4), ...other.slice(4)];
        expect(addressKey(written(neighbour, width).toUpperCase())).toBe(addressKey(written(one, 0)));
        const sameNetwork = one.slice(0, 4).join() === other.slice(0, 4).join();
        expect(addressKey(written(other, width)) === addressKey(written(one, 0))).toBe(sameNetwork);
      }),
    );
  });

  it('is the same with zeros left out', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 6 }), fc.nat(6), (groups, at) => {
        const before = groups.slice(0, at).map((group) => group.toString(16));
        const after = groups.slice(at).map((group) => group.toString(16));
        const zeros = Array<string>(8 - groups.length).fill('0');
        const full = [...before, ...zeros, ...after].join(':');
        expect(addressKey(`${before.join(':')}::${after.join(':')}`)).toBe(addressKey(full));
      }),
    );
  });
});
