import { clientAddress } from './client-address.js';

describe('the address of a client', () => {
  it.each([
    ['192.0.2.1', ['192.0.2.1', '192.0.2.1:80', ' 192.0.2.1:65535 ', '[192.0.2.1]:80']],
    ['192.0.2.1', ['::ffff:192.0.2.1', '[::FFFF:192.0.2.1]:80', '::ffff:c000:201', '0:0:0:0:0:ffff:c000:0201']],
    ['2001:db8::1', ['2001:db8::1', '[2001:DB8::1]', '[2001:db8::1]:443', '2001:0db8:0:0:0:0:0:1', '2001:db8::1%eth0']],
    ['fe80::1', ['fe80::1%eth0', '[fe80::1%25]:80', '[fe80::1]']],
    ['::1', ['::1', '[::1]:1']],
  ])('%s is one, however it is written', (address, written) => {
    expect(written.map(clientAddress)).toEqual(written.map(() => address));
  });

  it.each([
    ...[undefined, '', ' ', 'unknown', '_hidden', 'a.example.org', '1', '1.2.3', '1.2.3.4.5', '1.2.3.256', '01.2.3.4'],
    ...[
      '1.2.3.4:',
      '1.2.3.4:x',
      '1.2.3.4:123456',
      '[1.2.3.4',
      '0x7f.1',
      '127.1',
      '::1::',
      '[::1]x',
      '1.2.3.4, 5.6.7.8',
    ],
    ...[':', '::%', 'g::1', '1:2:3:4:5:6:7:8:9', '::1/64', '::1]@x[', 'x'.repeat(16_000)],
  ])('%j is none', (text) => {
    expect(clientAddress(text)).toBe('unknown');
  });
});
