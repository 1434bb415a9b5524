import { parsePrincipal, principalParameter } from './principal.js';

describe('a principal in an address', () => {
  it.each([
    [{ type: 'user', id: 12 }, 'user:12'],
    [{ type: 'group', id: 3 }, 'group:3'],
    [{ type: 'engine', name: 'user:7' }, 'engine:user:7'],
    [{ type: 'everyone' }, 'everyone'],
  ])('%j is %s, both ways', (principal, text) => {
    expect(principalParameter(principal)).toBe(text);
    expect(parsePrincipal(text)).toEqual(principal);
  });

  it.each([null, '', 'user:', 'user:0', 'user:1e3', 'group:-1', 'user:99999999999', 'role:1', 'engine:'])(
    '%s names nobody',
    (text) => expect(parsePrincipal(text)).toBeNull(),
  );
});
