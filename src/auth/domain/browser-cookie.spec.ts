import { browserCookieHeader, browserCookieName } from './browser-cookie.js';

describe('the cookie of a browser’s session', () => {
  it.each([
    [true, 'http', 'grantline.example.org', '__Host-grantline'],
    [false, 'https', 'grantline.example.org', '__Host-grantline'],
    [false, 'http', 'localhost', '__Host-grantline'],
    [false, 'http', '127.0.0.1', '__Host-grantline'],
    [false, 'http', 'grantline.example.org', 'grantline'],
  ])('production %s, %s://%s: %s', (production, protocol, hostname, name) => {
    expect(browserCookieName({ isProduction: production, protocol, hostname })).toBe(name);
  });

  it('leaves out what a browser would refuse on plain HTTP', () => {
    const site = { isProduction: false, protocol: 'http', hostname: 'grantline.test' };
    expect(browserCookieHeader(site, 'value')).toBe('grantline=value; Path=/; HttpOnly; SameSite=Strict');
    expect(browserCookieHeader({ ...site, isProduction: true }, 'value')).toBe(
      '__Host-grantline=value; Path=/; Secure; HttpOnly; SameSite=Strict',
    );
  });
});
