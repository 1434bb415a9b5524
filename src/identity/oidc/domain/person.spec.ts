import type { Account } from '../../../users/domain/account.js';
import { decidePerson, type Person, personOf, type PersonAccounts } from './person.js';

const CLAIMS = {
  ...{ issuer: 'https://sso.example.org', subjectClaim: 'sub', usernameClaim: 'preferred_username' },
  externalIdClaim: null,
};

const account = (overrides: Partial<Account> = {}): Account => ({
  ...{ id: 7, username: 'erin.test', email: null, role: 'user', source: 'import', hasPassword: false, isActive: true },
  ...{ createdAt: new Date(0), passwordExpiresAt: null },
  ...overrides,
});
const nobody = { linkedAccount: null, isLinkedAccountDeleted: false, externalIdAccount: null, accountByName: null };
const free = (overrides: Partial<Account> = {}) => ({ account: account(overrides), isLinked: false });

describe('whose account somebody has', () => {
  const off = { isActive: false };
  const password = { hasPassword: true };
  it.each<[string, Partial<PersonAccounts>, unknown, boolean, string]>([
    ['a known person', { linkedAccount: account() }, 'erin.test', true, 'sign-in'],
    [
      'a known person of another name',
      { linkedAccount: account(), accountByName: free() },
      'erin.married',
      true,
      'sign-in',
    ],
    ['a known person without a name', { linkedAccount: account() }, undefined, false, 'sign-in'],
    ['a known person who was deactivated', { linkedAccount: account(off) }, 'erin.test', true, 'account_deactivated'],
    ['the name of an account without a password', { accountByName: free() }, 'erin.test', false, 'link'],
    ['that of a deactivated one', { accountByName: free(off) }, 'erin.test', true, 'account_deactivated'],
    ['that of one with a password', { accountByName: free(password) }, 'erin.test', true, 'name_taken'],
    [
      'that of a deactivated one with a password',
      { accountByName: free({ ...off, ...password }) },
      'erin.test',
      true,
      'name_taken',
    ],
    [
      'that of another person’s',
      { accountByName: { account: account(), isLinked: true } },
      'erin.test',
      true,
      'name_taken',
    ],
    ['a new name', {}, 'erin.test', true, 'create'],
    ['a new name, where accounts are made by others', {}, 'erin.test', false, 'account_missing'],
    ['an address as a name', {}, 'erin@example.org', true, 'create'],
    ['no name', {}, undefined, true, 'name_missing'],
    ['null', {}, null, true, 'name_missing'],
    ['an object', {}, {}, true, 'name_invalid'],
    ['a decomposed letter', {}, 'jose\u0301', true, 'name_invalid'],
    ['a service account’s name in another case', {}, 'Service-Account-x', true, 'name_invalid'],
  ])('%s', (_, present, name, createAccounts, outcome) => {
    const person: Person = { issuer: CLAIMS.issuer, subject: 'f0a1', name, email: null, externalId: null };
    const decision = decidePerson(person, { ...nobody, ...present }, { createAccounts, externalIdClaim: null });
    expect(decision.kind === 'failed' ? decision.code : decision.kind).toBe(outcome);
  });
});

describe('whose account somebody has, where a claim is the external id of SCIM', () => {
  const scim = { source: 'scim' } as const;
  const off = { linkedAccount: account({ ...scim, isActive: false }) };
  const deleted = { ...off, isLinkedAccountDeleted: true };
  it.each<[string, Partial<PersonAccounts>, string]>([
    ['the account that was pushed for them', { externalIdAccount: free(scim) }, 'link'],
    ['it, whatever has their name', { externalIdAccount: free(scim), accountByName: free({ id: 8 }) }, 'link'],
    [
      'their own, whatever is pushed later',
      { linkedAccount: account(), externalIdAccount: free({ id: 8 }) },
      'sign-in',
    ],
    ['one that has a password', { externalIdAccount: free({ ...scim, hasPassword: true }) }, 'name_taken'],
    ['one that is another person’s', { externalIdAccount: { account: account(scim), isLinked: true } }, 'name_taken'],
    ['one that was deactivated', { externalIdAccount: free({ ...scim, isActive: false }) }, 'account_deactivated'],
    ['one of SCIM’s by name alone', { accountByName: free(scim) }, 'name_taken'],
    ['one of an import by name', { accountByName: free() }, 'link'],
    ['the new one of a deleted person', { ...deleted, externalIdAccount: free(scim) }, 'link'],
    ['the new one of a deactivated person', { ...off, externalIdAccount: free(scim) }, 'account_deactivated'],
    ['one of an import, of a deleted person', { ...deleted, accountByName: free() }, 'account_deactivated'],
    ['no new one, of a deleted person', deleted, 'account_deactivated'],
  ])('%s', (_, present, outcome) => {
    const person = { issuer: CLAIMS.issuer, subject: 'f0a1', name: 'erin.test', email: null, externalId: 'e1' };
    const rules = { createAccounts: true, externalIdClaim: 'oid' };
    const decision = decidePerson(person, { ...nobody, ...present }, rules);
    expect(decision.kind === 'failed' ? decision.code : decision.kind).toBe(outcome);
  });
});

describe('a person out of claims', () => {
  it('has subject and name of the settings’ claims', () => {
    const claims = { sub: 'of this client', oid: 'of the company', upn: 'erin@example.org' };
    expect(personOf(claims, { ...CLAIMS, subjectClaim: 'oid', usernameClaim: 'upn' })).toEqual({
      issuer: CLAIMS.issuer,
      subject: 'of the company',
      name: 'erin@example.org',
      email: null,
      externalId: null,
    });
    expect(personOf(claims, { ...CLAIMS, externalIdClaim: 'oid' })?.externalId).toBe('of the company');
    expect(personOf({ sub: 'x', oid: 7 }, { ...CLAIMS, externalIdClaim: 'oid' })?.externalId).toBeNull();
  });

  it.each([
    ['erin@example.org', true, 'erin@example.org'],
    ['erin@example.org', undefined, 'erin@example.org'],
    ['erin@example.org', false, null],
    ['Erin <erin@example.org>', true, null],
    [['erin@example.org'], true, null],
  ])('has the address %j, if verified is not false (%j)', (email, email_verified, kept) => {
    expect(personOf({ sub: 'f0a1', email, email_verified }, CLAIMS)?.email).toBe(kept);
  });

  it.each([undefined, null, '', 7, ['f0a1'], 'x'.repeat(256), 'é', 'a\u0000b'])(
    'is none with the subject %j',
    (sub) => {
      expect(personOf({ sub }, CLAIMS)).toBeNull();
    },
  );
});
