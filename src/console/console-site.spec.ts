import { isOpenToOtherSites, isSameOrigin } from './console-site.js';

const OWN = 'https://grantline.example.org';

describe('the site of a request', () => {
  it.each([
    ['same-origin', undefined, undefined, true],
    ['same-origin', 'https://evil.example', undefined, true],
    ['same-site', OWN, `${OWN}/`, false],
    ['cross-site', undefined, `${OWN}/`, false],
    ['none', undefined, undefined, false],
    [undefined, OWN, undefined, true],
    [undefined, 'https://evil.example', `${OWN}/`, false],
    [undefined, 'null', `${OWN}/`, false],
    [undefined, undefined, undefined, false],
    [undefined, undefined, `${OWN}/people?q=a`, true],
    [undefined, undefined, `https://evil.example/${OWN}/`, false],
    [undefined, undefined, `${OWN}.evil.example/`, false],
    [undefined, undefined, `${OWN}@evil.example/`, false],
    [undefined, undefined, 'no address', false],
  ])('Sec-Fetch-Site %s, Origin %s, Referer %s: %s', (fetchSite, origin, referer, expected) => {
    expect(isSameOrigin({ fetchSite, origin, referer }, OWN)).toBe(expected);
  });

  it('matters to every route that may read the cookie', () => {
    const open = [
      '/',
      '/people/12',
      '/api/auth/oidc/start',
      '/api/auth/oidc/console',
      '/api/auth/oidc/callback',
      '/api/docs',
      '/api/openapi.json',
    ];
    const closed = [
      '/api/auth/me',
      '/api/auth/oidc/tokens',
      '/api/auth/oidc/start/x',
      '/api/docsx',
      '/api/admin/users',
    ];
    expect(open.filter((path) => !isOpenToOtherSites(path))).toEqual([]);
    expect(closed.filter(isOpenToOtherSites)).toEqual([]);
  });
});
