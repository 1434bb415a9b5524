import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Page } from '@playwright/test';
import { type Claims, FakeIdentityProvider } from '../support/fakes/fake-identity-provider.js';
import { SystemClock } from '../../src/kernel/clock.js';
import { freePort } from '../support/service/free-port.js';
import { expectAccessible } from './running/accessibility.js';
import { expect, passwordOf, test as base } from './running/console-test.js';

/** A service of its own: what waits is of the whole service, and its people come from a scripted provider. */
const test = base.extend<object, { provider: FakeIdentityProvider }>({
  provider: [
    async ({}, use) => {
      const provider = new FakeIdentityProvider(new SystemClock());
      await provider.listen();
      await use(provider);
      await provider.close();
    },
    { scope: 'worker' },
  ],
  environment: [
    async ({ provider }, use) => {
      const port = String(await freePort());
      await use({
        AUTH_OIDC_ISSUER: provider.issuer,
        AUTH_OIDC_CLIENT_ID: 'grantline',
        AUTH_OIDC_CLIENT_SECRET: provider.secret,
        PUBLIC_URL: `http://127.0.0.1:${port}`,
        PORT: port,
      });
    },
    { scope: 'worker' },
  ],
});
test.describe.configure({ mode: 'serial' });

const SUB = 'the subject of vera';

/** Whoever comes to the provider next is sent back at once: signed in, or with an error. */
function sendsBack(provider: FakeIdentityProvider, claims: Claims | { error: string }): void {
  provider.instead.set('auth', ({ url = '' }: IncomingMessage, response: ServerResponse) => {
    const asked = new URL(url, provider.issuer);
    const answer = provider.signIn(asked.href, 'error' in claims ? {} : claims);
    if ('error' in claims) {
      answer.delete('code');
      answer.set('error', String(claims.error));
    }
    const back = new URL(asked.searchParams.get('redirect_uri') ?? '');
    back.search = answer.toString();
    response.writeHead(302, { Location: back.href }).end();
  });
}

async function signIn(page: Page): Promise<void> {
  // On a busy machine the service may not have reached the provider at its start, and waits some seconds then.
  await expect(async () => {
    await page.goto('/me');
    const link = page.getByRole('link', { name: /^Sign in with / });
    const signOut = page.getByRole('button', { name: 'Sign out' });
    await expect(link.or(signOut)).toBeVisible();
    if (await link.isVisible()) await link.click();
    await expect(signOut).toBeVisible({ timeout: 5_000 });
  }).toPass();
}

/** In seconds, as of a session that the provider has had for a while. */
const hourAgo = (): number => Math.floor(Date.now() / 1000) - 3600;

test('an administrator without a password confirms a promotion at the provider, and comes back to it', async ({
  page,
  provider,
  grantline,
  records,
  admin,
  watch,
}) => {
  watch.knows(new URL(provider.issuer).origin);
  const promoted = await records.person('to_promote');
  sendsBack(provider, { sub: SUB, preferred_username: 'vera', auth_time: hourAgo() });
  await signIn(page);
  const { body } = await admin.get('/api/admin/users?q=vera');
  const [{ id }] = body?.['items'] as [{ id: number }];
  await admin.patch(`/api/admin/users/${id}`, { role: 'admin' });

  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Begin with three steps' })).toBeVisible();
  await expect(page.getByRole('tabpanel').getByRole('listitem').getByRole('link')).toHaveText([
    'Add people',
    'Make the first grant',
    'Connect the engine',
  ]);
  await expect(page.getByText(/^Its file access control reads file .*rules\.json\.$/)).toBeVisible();
  await expectAccessible(page);
  await page.goto(`/people/${promoted}`);
  await page.getByRole('button', { name: 'Make administrator…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Make to_promote administrator?' });
  const confirm = dialog.getByRole('button', { name: 'Confirm at the provider' });
  await expect(confirm).toBeVisible();
  await expect(dialog.getByLabel('Your password, to confirm')).toBeHidden();
  await expectAccessible(page);

  sendsBack(provider, { error: 'access_denied' });
  await confirm.click();
  await expect(dialog.getByRole('alert')).toContainText('You did not sign in at the provider. Nothing was confirmed.');
  await expectAccessible(page);

  sendsBack(provider, { sub: 'somebody else', preferred_username: 'vera' });
  await confirm.click();
  await expect(dialog.getByRole('alert')).toContainText('Somebody else signed in at the provider.');

  sendsBack(provider, { sub: SUB });
  await confirm.click();
  await expect(dialog.getByRole('status')).toHaveText('You confirmed at the provider.');
  await expect(page).toHaveURL(`${grantline.url}/people/${promoted}?ask=make-administrator`);
  expect((await admin.get(`/api/admin/users/${promoted}`)).body?.['role']).toBe('user');
  await dialog.getByRole('button', { name: 'Make administrator' }).click();
  await expect(page.getByRole('button', { name: 'Make user…' })).toBeVisible();
  await expect(page).toHaveURL(`${grantline.url}/people/${promoted}`);
});

test('a person without a password confirms at the provider before an API token, and comes back to its form', async ({
  page,
  provider,
  watch,
}) => {
  watch.knows(new URL(provider.issuer).origin);
  sendsBack(provider, { sub: 'the subject of wim', preferred_username: 'wim', auth_time: hourAgo() });
  await signIn(page);
  await page.goto('/me');
  await page.getByRole('button', { name: 'New token' }).click();
  const form = page.getByRole('form', { name: 'New token' });
  const confirm = form.getByRole('button', { name: 'Confirm at the provider' });
  await expect(form.getByRole('textbox')).toHaveCount(0); // what is typed would be lost on the way
  await expectAccessible(page);

  sendsBack(provider, { error: 'access_denied' });
  await confirm.click();
  await expect(page.getByRole('alert')).toHaveText(/You did not sign in at the provider. Nothing was confirmed./);

  sendsBack(provider, { sub: 'the subject of wim' });
  await confirm.click();
  await form.getByRole('textbox', { name: 'Name' }).fill('notebook');
  await expectAccessible(page);
  await form.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('group', { name: 'Token notebook' })).toHaveText(/^glt_/);
});

test('a person with a password links the account to the provider, and unlinks it', async ({
  page,
  provider,
  records,
  admin,
  signIn: signInWithPassword,
  watch,
}) => {
  watch.knows(new URL(provider.issuer).origin);
  const id = await records.person('lena');
  await signInWithPassword('lena');
  await page.goto('/me');
  const name = new URL(provider.issuer).host;
  const link = async (): Promise<void> => {
    await page.getByRole('button', { name: 'Link…' }).click();
    const dialog = page.getByRole('dialog', { name: `Link to ${name}?` });
    await dialog.getByLabel('Your password, to confirm').fill(passwordOf('lena'));
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Sign in at the provider' }).click();
  };
  sendsBack(provider, { error: 'access_denied' });
  await link();
  await expect(page.getByRole('alert')).toContainText('You did not sign in at the provider. Nothing was linked.');
  sendsBack(provider, { sub: SUB, preferred_username: 'lena' }); // vera's
  await link();
  await expect(page.getByRole('alert')).toContainText('Whoever signed in there has another account here.');
  await expectAccessible(page);
  sendsBack(provider, { sub: 'the subject of lena' });
  await link();
  await expect(page.getByText('Linked since')).toBeVisible();
  expect((await admin.get(`/api/admin/users/${id}/link`)).body?.['subject']).toBe('the subject of lena');

  await page.getByRole('button', { name: 'Unlink…' }).click();
  await page
    .getByRole('dialog', { name: `Unlink from ${name}?` })
    .getByRole('button', { name: 'Unlink' })
    .click();
  await expect(page.getByText('Not linked.')).toBeVisible();
  await link();
  await expect(page.getByText('Linked since')).toBeVisible();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible();
  await signInWithPassword('admin');
  await page.goto(`/people/${id}`);
  await page.getByRole('button', { name: 'Unlink…' }).click();
  const removal = page.getByRole('dialog', { name: 'Unlink lena from the provider?' });
  await removal.getByRole('button', { name: 'Unlink' }).click();
  await expect(page.getByRole('button', { name: 'Unlink…' })).toBeHidden();
  expect((await admin.get(`/api/admin/users/${id}/link`)).body?.['linked_at']).toBeNull();
});

test('the approval of a change is confirmed at the provider; signing out ends there', async ({
  page,
  provider,
  grantline,
  records,
  admin,
  watch,
}) => {
  watch.knows(new URL(provider.issuer).origin);
  const reader = await records.person('reader_of_sixty');
  for (const table of Array.from({ length: 60 }, (_, i) => `sales.eu.t${i}`)) {
    await records.grant({ type: 'user', id: reader }, table);
  }
  await admin.post('/api/admin/acl/sync');
  const database = await grantline.database();
  await database.query('DELETE FROM grants');
  await database.end();
  await admin.post('/api/admin/acl/sync');

  sendsBack(provider, { sub: SUB, auth_time: hourAgo() });
  await signIn(page);
  await page.goto('/publications');
  await page.getByRole('button', { name: 'Approve this change' }).click();
  const dialog = page.getByRole('dialog', { name: 'Approve this change?' });
  await expect(dialog).toContainText(/\d+ (person loses|people lose) SELECT/); // what it takes is known only after some seconds
  const consequence = (await dialog.getByText(/^The next run publishes change /).textContent()) ?? '';
  sendsBack(provider, { sub: SUB });
  await dialog.getByRole('button', { name: 'Confirm at the provider' }).click();
  await expect(dialog.getByRole('status')).toHaveText('You confirmed at the provider.');
  await expect(dialog.getByText(/^The next run publishes change /)).toHaveText(consequence);
  await dialog.getByRole('button', { name: 'Approve' }).click();
  await expect(dialog).toBeHidden();
  await page.getByRole('button', { name: 'Publish now' }).click();
  await expect(page.getByText('Version 2 was published.')).toBeVisible();

  provider.instead.set('logout', ({ url = '' }, response) => {
    const asked = new URL(url, provider.issuer).searchParams;
    const state = new URLSearchParams({ state: asked.get('state') ?? '' }).toString();
    response.writeHead(302, { Location: `${asked.get('post_logout_redirect_uri')}?${state}` }).end();
  });
  const signedOut = page.waitForRequest(/openid-connect\/logout\?id_token_hint=/);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signedOut;
  await expect(page).toHaveURL(`${grantline.url}/sign-in`);
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible();
  await expect(page.getByRole('alert')).toHaveCount(0);
});
