import { judgeIdentity } from './engine-identity.service.js';

describe('judgeIdentity', () => {
  it.each([
    ['sa', 'system', 'confirmed'],
    ['SA', 'system', 'mismatch'],
    ['other-user', 'system', 'mismatch'],
    // Verified mode, an engine without the alternate header name: the user comes out of the token, and nothing else is read.
    ['sa', null, 'mismatch'],
    ['sa', undefined, 'confirmed'],
    [undefined, undefined, 'unknown'],
  ])('current_user %p, current_catalog %p: %s', (user, catalog, identity) => {
    expect(judgeIdentity('sa', user, catalog, 'X-Query')).toMatchObject({ identity });
  });
});
