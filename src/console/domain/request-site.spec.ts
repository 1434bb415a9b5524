import { isOpenToOtherSites, isSameOrigin } from './request-site.js';

const OWN = 'https://grantline.example.org';

describe('the site of a request', () => {
  it.each([
    ['same-origin', undefined, true],
    ['same-origin', 'https://evil.example', true],
    ['same-site', OWN, false],
    ['cross-site', undefined, false],
    ['none', undefined, false],
    [undefined, OWN, true],
    [undefined, 'https://evil.example', false],
    [undefined, 'null', false],
    [undefined, undefined, false],
  ])('Sec-Fetch-Site %s, Origin %s: %s', (fetchSite, origin, expected) => {
    expect(isSameOrigin({ fetchSite, origin }, OWN)).toBe(expected);
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
