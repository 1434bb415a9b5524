import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expectAccessible } from './running/accessibility.js';
import { expect, openSession, passwordOf, test } from './running/console-test.js';
import { OTHER_NAME } from './running/browser.js';
import { Grantline } from './running/grantline.js';

const NOTHING_KEPT = '[document.cookie, localStorage.length, sessionStorage.length]';

test('a person signs in, comes to where they wanted to go, and signs out', async ({ page, records, watch }) => {
  await records.person('ana');
  watch.provokes(401);

  await page.goto('/me?x=1');
  await expect(page).toHaveTitle('Sign in · Grantline');
  await page.getByRole('textbox', { name: 'Username' }).fill('ana');
  await page.getByRole('textbox', { name: 'Password' }).fill('a guess');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('alert')).toContainText('Username or password is wrong.');
  await expectAccessible(page);

  await page.getByRole('textbox', { name: 'Password' }).fill(passwordOf('ana'));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page).toHaveURL(/\/me\?x=1$/);
  expect(await page.evaluate(NOTHING_KEPT)).toEqual(['', 0, 0]);

  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible();
  await page.goto('/me');
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible();
});

test('a person signs in by plain HTTP under another name, where browsers say little of requests', async ({
  browser,
  grantline,
  records,
}) => {
  await records.person('abe');
  const { origin } = Object.assign(new URL(grantline.url), { hostname: OTHER_NAME });
  // Not watched: the browser prints the headers that it ignores there.
  const page = await browser.newPage();

  await page.goto(`${origin}/me`);
  await page.getByRole('textbox', { name: 'Username' }).fill('abe');
  await page.getByRole('textbox', { name: 'Password' }).fill(passwordOf('abe'));
  const [asked] = await Promise.all([
    page.waitForRequest(`${origin}/api/access/effective**`),
    page.getByRole('button', { name: 'Sign in' }).click(),
  ]);
  await expect(page.getByRole('heading', { name: 'You reach nothing yet' })).toBeVisible();
  expect(await asked.allHeaders()).not.toHaveProperty('sec-fetch-site');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible();
  await page.close();
});

test('a one-time password opens nothing but its own change', async ({ page, records, admin, signIn, watch }) => {
  const id = await records.person('bea');
  const { body } = await admin.post(`/api/admin/users/${id}/one-time-password`);
  const oneTime = String(body?.['one_time_password']);
  watch.provokes(403);

  const enter = async (): Promise<void> => {
    await page.getByRole('textbox', { name: 'Username' }).fill('bea');
    await page.getByRole('textbox', { name: 'Password' }).fill(oneTime);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  const dialog = page.getByRole('dialog', { name: 'Choose your password' });
  const current = dialog.getByLabel('One-time password');
  await page.goto('/me');
  await enter();
  await expect(dialog).toContainText('8 to 128 characters');
  await expect(current).toBeHidden(); // it was typed a moment ago
  await expectAccessible(page);
  await watch.settled();
  await expect(page.getByText('password_change_required')).toHaveCount(0);
  await page.keyboard.press('Escape');

  await page.reload();
  await current.fill('a guess');
  await dialog.getByLabel('New password').fill(passwordOf('bea'));
  watch.provokes(401);
  await dialog.getByRole('button', { name: 'Change password' }).click();
  await expect(dialog.getByRole('alert')).toContainText('invalid_credentials');
  await current.fill(oneTime);
  await expect(dialog.getByRole('alert')).toBeHidden();
  await dialog.getByRole('button', { name: 'Sign out' }).click();

  await enter();
  await dialog.getByLabel('New password').fill(passwordOf('bea'));
  await dialog.getByRole('button', { name: 'Change password' }).click();
  await expect(page.getByRole('heading', { name: 'You reach nothing yet' })).toBeVisible();
  await expect(dialog).toBeHidden();
  await signIn('bea');
});

test('a one-time password leads to the address that was opened, once it is changed', async ({
  page,
  records,
  admin,
  watch,
}) => {
  const enter = async (username: string, id: number): Promise<void> => {
    const { body } = await admin.post(`/api/admin/users/${id}/one-time-password`);
    await page.getByRole('textbox', { name: 'Username' }).fill(username);
    await page.getByRole('textbox', { name: 'Password' }).fill(String(body?.['one_time_password']));
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  const dialog = page.getByRole('dialog', { name: 'Choose your password' });
  watch.provokes(403);
  const deep = '/data/ot_caf%C3%A9/eu%20north?tab=grants';
  await page.goto(deep);
  await enter('otis', await records.administrator('otis'));
  await dialog.getByLabel('New password').fill(passwordOf('otis'));
  await dialog.getByRole('button', { name: 'Change password' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'eu north' })).toBeVisible();
  await expect(page).toHaveURL(deep);
  await expect(dialog).toBeHidden();
  await watch.settled(); // a question under way at the sign-out would be refused
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible();

  await page.goto('/grants'); // asks the service for nothing
  await enter('odd', await records.person('odd'));
  await expect(dialog).toBeVisible();
});

test('a session that ends is opened again over the page', async ({ page, context, records, signIn, watch }) => {
  await records.person('cleo');
  await signIn('cleo');
  await signIn('cleo');
  await page.goto('/me');
  const other = page.getByRole('table', { name: 'Sessions' }).getByRole('button', { name: /^End / });
  await expect(other).toHaveCount(1);

  await watch.settled(); // nothing but the button finds that the session has ended
  await context.clearCookies();
  watch.provokes(401);
  await other.click();
  const dialog = page.getByRole('dialog', { name: 'Sign in again' });
  await expect(dialog.getByRole('textbox', { name: 'Username' })).toHaveValue('cleo');
  await expect(page.getByRole('alert')).toHaveCount(0);
  await expectAccessible(page);
  await dialog.getByRole('textbox', { name: 'Password' }).fill(passwordOf('cleo'));
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await expect(dialog).toBeHidden();
  await expect(page).toHaveURL(/\/me$/);
});

test('what was typed outlives a session that ends, until the same person has signed in again at the provider', async ({
  page,
  context,
  grantline,
  records,
  signIn,
  watch,
}) => {
  await records.administrator('gwen');
  await records.person('hal');
  await page.route('**/api/auth/oidc', (route) =>
    route.fulfill({ json: { enabled: true, name: 'Corp', password_sign_in: false } }),
  );
  await signIn('gwen');
  await page.goto('/sql');
  const editor = page.getByRole('textbox', { name: 'SQL statement' });
  await editor.fill('SELECT typed');
  await watch.settled();
  await context.clearCookies();
  watch.provokes(401);
  await page.getByRole('button', { name: 'Run' }).click();
  const dialog = page.getByRole('dialog', { name: 'Sign in again' });
  const goOn = dialog.getByRole('button', { name: 'Go on' });
  await goOn.click();
  await expect(dialog.getByRole('alert')).toHaveText('You are not signed in yet.');
  await openSession(context, grantline.url, 'hal');
  await goOn.click();
  await expect(dialog.getByRole('alert')).toHaveText('hal is signed in. Sign in as gwen.');
  await expectAccessible(page);
  await openSession(context, grantline.url, 'gwen');
  await goOn.click();
  await expect(dialog).toBeHidden();
  await expect(editor).toHaveText('SELECT typed');

  await watch.settled();
  await context.clearCookies();
  await page.getByRole('button', { name: 'Run' }).click();
  await dialog.getByRole('button', { name: 'Administrators: with a password' }).click(); // the provider is down
  await dialog.getByRole('textbox', { name: 'Password' }).fill(passwordOf('gwen'));
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
  await expect(dialog).toBeHidden();
  await expect(editor).toHaveText('SELECT typed');
});

test('a dialog that asks whether a proof is recent finds that the session has ended, and the page stays', async ({
  page,
  context,
  records,
  signIn,
  watch,
}) => {
  const id = await records.person('ike');
  await records.administrator('ines');
  await signIn('ines');
  await page.goto(`/people/${id}`);
  const oneTimePassword = page.getByRole('button', { name: 'One-time password' });
  await expect(oneTimePassword).toBeVisible();
  await watch.settled();
  await page.route('**/api/admin/acl/status', () => undefined); // no answer, which would find it as well
  await context.clearCookies();
  await oneTimePassword.click();
  const again = page.getByRole('dialog', { name: 'Sign in again' });
  await again.getByRole('textbox', { name: 'Password' }).fill(passwordOf('ines'));
  await again.getByRole('button', { name: 'Sign in' }).click();
  await expect(again).toBeHidden();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('ike');
  await expect(page.getByRole('dialog')).toBeVisible();
});

test('a one-time password is typed once, also where the session has ended', async ({
  page,
  records,
  admin,
  signIn,
  watch,
}) => {
  const id = await records.person('kira');
  await signIn('kira');
  await page.goto('/sql');
  const editor = page.getByRole('textbox', { name: 'SQL statement' });
  await editor.fill('SELECT kept');
  await watch.settled();
  watch.provokes(401, 403);
  const { body } = await admin.post(`/api/admin/users/${id}/one-time-password`); // ends all sessions
  await page.getByRole('button', { name: 'Run' }).click();
  const again = page.getByRole('dialog', { name: 'Sign in again' });
  await again.getByRole('textbox', { name: 'Password' }).fill(String(body?.['one_time_password']));
  await again.getByRole('button', { name: 'Sign in' }).click();
  const dialog = page.getByRole('dialog', { name: 'Choose your password' });
  await expect(dialog).toBeVisible();
  await watch.settled();
  await expect(dialog.getByLabel('One-time password')).toHaveCount(0);
  await dialog.getByLabel('New password').fill(passwordOf('kira'));
  await dialog.getByRole('button', { name: 'Change password' }).click();
  await expect(dialog).toBeHidden();
  await expect(editor).toHaveText('SELECT kept');
});

test('signing out ends every tab', async ({ page, context, records, signIn, watch }) => {
  await records.person('noel');
  await signIn('noel');
  await page.goto('/me');
  const other = await context.newPage();
  await other.goto('/me');
  await expect(other.getByRole('table', { name: 'Sessions' })).toBeVisible();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible();

  watch.provokes(401);
  await other.getByRole('link', { name: 'SQL' }).click();
  await expect(other.getByRole('dialog', { name: 'Sign in again' })).toBeVisible();
  await other.reload();
  await expect(other.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible();
});

test('another port of this host cannot use the cookie', async ({
  page,
  context,
  grantline,
  records,
  signIn,
  watch,
}) => {
  await records.person('dora');
  await signIn('dora');
  const form = `<form method="post" action="${grantline.url}/api/auth/logout"><button>Send</button></form>`;
  const other = createServer((_, response) =>
    response.setHeader('Content-Type', 'text/html').end(`<link rel="icon" href="data:,">${form}`),
  );
  await new Promise<void>((ready) => other.listen(0, '127.0.0.1', ready));
  try {
    const { port } = other.address() as AddressInfo;
    watch.knows(`http://127.0.0.1:${port}`);
    watch.provokes(403);
    await page.goto(`http://127.0.0.1:${port}`);
    const [answer] = await Promise.all([
      page.waitForResponse(`${grantline.url}/api/auth/logout`),
      page.getByRole('button', { name: 'Send' }).click(),
    ]);
    expect([answer.status(), await answer.json()]).toEqual([403, expect.objectContaining({ code: 'cross_site' })]);
    expect((await answer.request().allHeaders())['cookie']).toContain('grantline=');
  } finally {
    other.close();
  }
  expect(await context.cookies()).toEqual([
    expect.objectContaining({ name: '__Host-grantline', httpOnly: true, secure: true, sameSite: 'Strict', path: '/' }),
  ]);
});

test('the first start says how an administrator is made, and goes on by itself', async ({ page, watch }) => {
  // The provider need not answer for the page to name it.
  const fresh = await Grantline.start({
    AUTH_OIDC_ISSUER: 'http://127.0.0.1:1/realms/data',
    AUTH_OIDC_CLIENT_ID: 'grantline',
    AUTH_OIDC_CLIENT_SECRET: 'the secret of the client',
    PUBLIC_URL: 'http://127.0.0.1:3000',
    AUTH_PASSWORD_SIGN_IN_ENABLED: 'false',
  });
  watch.knows(fresh.url);
  try {
    await page.goto(fresh.url);
    await expect(page.getByRole('heading', { level: 1, name: 'No administrator yet' })).toBeVisible();
    await expect(page.getByLabel('Command')).toContainText('users create-admin');
    await expectAccessible(page);
    await fresh.createAdministrator();
    await expect(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible();
    await page.goto(`${fresh.url}/sign-in?to=%2Fsql&error=sign_in_cancelled&request_id=17`);
    await expect(page.getByRole('link', { name: 'Sign in with 127.0.0.1:1' })).toHaveAttribute(
      'href',
      '/api/auth/oidc/console?to=%2Fsql',
    );
    await expect(page.getByRole('alert')).toContainText('sign_in_cancelled');
    await expectAccessible(page);

    // For the day on which the provider is down.
    await expect(page.getByRole('textbox')).toHaveCount(0);
    await page.getByRole('button', { name: 'Administrators: with a password' }).click();
    await page.getByRole('textbox', { name: 'Username' }).fill('admin');
    await page.getByRole('textbox', { name: 'Password' }).fill(passwordOf('admin'));
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await expect(page).toHaveURL(/\/sql$/);
  } finally {
    await page.goto('about:blank');
    await fresh.stop();
  }
});

test('a sign-out that fails says so; one whose session has ended already is one', async ({
  page,
  context,
  records,
  signIn,
  watch,
}) => {
  await records.person('gerd');
  await signIn('gerd');
  await page.goto('/me');
  watch.provokes(503, 401);
  const json = { code: 'database_unavailable', status: 503, detail: 'No', request_id: 'r-6' };
  await page.route('**/api/auth/console-session', (route) =>
    route.request().method() === 'DELETE' ? route.fulfill({ status: 503, json }) : route.continue(),
  );
  const signOut = page.getByRole('button', { name: 'Sign out' });
  await signOut.click();
  await expect(page.getByRole('navigation', { name: 'Main' }).getByRole('alert')).toContainText('r-6');
  await expectAccessible(page);
  await page.unroute('**/api/auth/console-session');
  await watch.settled();
  await context.clearCookies();
  await signOut.click();
  await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible();
  await expect(page).toHaveURL(/\/sign-in/);
});
