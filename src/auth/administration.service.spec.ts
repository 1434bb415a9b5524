import { changeRequiresProof, creationRequiresProof } from './administration.service.js';

describe('a recent proof', () => {
  it.each([
    ['promoting', { role: 'admin' }, 'user', true],
    ['keeping an administrator', { role: 'admin' }, 'admin', true],
    ['demoting', { role: 'user' }, 'admin', true],
    ['deactivating an administrator', { isActive: false }, 'admin', true],
    ['activating an administrator', { isActive: true }, 'admin', true],
    ['renaming', { username: 'x' }, 'user', true],
    ['deactivating', { isActive: false }, 'user', false],
    ['activating', { isActive: true, role: 'user' }, 'user', false],
  ] as const)('for %s', (_, change, role, asks) => {
    expect(changeRequiresProof(change, { role })).toBe(asks);
  });

  it.each([
    ['admin', false, true],
    ['admin', true, true],
    ['user', true, true],
    ['user', false, false],
  ] as const)('for a new account with the role %s, and a one-time password: %s', (role, withOneTimePassword, asks) => {
    expect(creationRequiresProof({ role, withOneTimePassword })).toBe(asks);
  });
});
