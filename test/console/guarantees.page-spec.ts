import type { Page } from '@playwright/test';
import { type ApiClient, signIn as openSession } from '../support/service/api-client.js';
import { idOf, SCIM_TOKEN, ScimClient, scimGroup, scimUser } from '../support/service/scim-client.js';
import { expectAccessible } from './running/accessibility.js';
import { expect, passwordOf, test } from './running/console-test.js';

test.use({ environment: { SCIM_TOKEN } });

const GUARANTEES = '/api/admin/guarantees';
const main = (page: Page) => page.getByRole('main');
const status = (page: Page) => main(page).getByRole('status').first();
const breaches = (page: Page) => page.getByRole('region', { name: 'What breaks it' });

async function choose(page: Page, field: string, name: string): Promise<void> {
  await page.getByRole('combobox', { name: field }).fill(name);
  await page.getByRole('option', { name }).first().click();
}

async function made(admin: ApiClient, guarantee: object): Promise<number> {
  const { status, body } = await admin.post(GUARANTEES, guarantee);
  expect({ status, body }).toMatchObject({ status: 201 });
  return Number(body?.['id']);
}

test('a sentence is judged while it is written, refused with its chain, mended, and saved', async ({
  page,
  records,
  admin,
  signIn,
  watch,
}) => {
  const group = await records.group('gu-analysts', await records.person('gus'));
  const grant = await records.grant({ type: 'group', id: group }, 'gu_hr.eu');
  await signIn('admin');
  await page.goto('/');
  await page.getByRole('link', { name: 'Guarantees', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'No guarantee yet' })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('link', { name: 'New guarantee' }).click();
  await expect(page).toHaveTitle('New guarantee · Grantline');

  const sentence = page.getByRole('heading', { level: 2, name: /may/ });
  await expect(sentence).toHaveText('Nobody of … may do anything on everything.');
  await choose(page, 'Person or group', 'gu-analysts');
  await page.getByRole('combobox', { name: 'Catalog' }).fill('gu_hr');
  await expect(status(page)).toContainText('Broken today');
  await page.getByRole('checkbox', { name: 'INSERT', exact: true }).check();
  await expect(sentence).toHaveText('Nobody of gu-analysts may INSERT into gu_hr.');
  await expect(status(page)).toContainText('Holds today, judged over 1 person');
  await page.getByRole('checkbox', { name: 'SELECT', exact: true }).check();
  await expect(sentence).toHaveText('Nobody of gu-analysts may SELECT or INSERT on gu_hr.');
  await expect(breaches(page)).toContainText(
    `gus may SELECT from gu_hr.eu.(any other table) by grant ${grant} through gu-analysts: revoke it, or take gus out of gu-analysts. Why?`,
  );
  const chain = breaches(page).getByRole('list', { name: 'How' });
  await expect(chain.getByRole('listitem')).toHaveText([
    /^GUPersongus/,
    /^Groupgu-analystsmember/,
    new RegExp(`^GrantGrant ${grant}SELECT`),
    /^Nodegu_hr\.eu/,
    /^Rule/,
  ]);
  await expectAccessible(page);

  await page.getByRole('textbox', { name: 'Name' }).fill('no analyst reads hr');
  watch.provokes(409);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('alert')).toContainText('the guarantee "no analyst reads hr" is broken');
  await expect(chain).toBeVisible();
  expect((await admin.get(GUARANTEES)).body?.['items']).toEqual([]);
  await page.getByRole('button', { name: 'Make it reported' }).click();
  await expect(page.getByRole('alert')).toBeHidden();
  await page.getByRole('radio', { name: 'Enforced' }).check({ force: true });
  await expect(page).toHaveURL(/^(?=.*name=no\+analyst).*mode=enforced/);

  await chain.getByRole('link', { name: `Grant ${grant}` }).click();
  await page.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await expect(page.getByText('revoked', { exact: true })).toBeVisible();
  await page.goBack();
  await expect(page.getByRole('textbox', { name: 'Name' })).toHaveValue('no analyst reads hr');
  await expect(status(page)).toContainText('Holds today');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page).toHaveURL(/\/guarantees\/\d+$/);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('no analyst reads hr');
  await page.getByRole('link', { name: 'Guarantees', exact: true }).click();
  await expect(page.getByRole('table', { name: 'Guarantees' }).getByRole('row').nth(1)).toContainText(
    /no analyst reads hrNobody of gu-analysts may SELECT or INSERT on gu_hrholdstoday .*over 1 person, \d+ nodes?/,
  );
});

test('a description is not judged; text that is typed while a guarantee is saved stays, and is saved next', async ({
  page,
  records,
  signIn,
  watch,
}) => {
  const kim = await records.person('gu_kim');
  await signIn('admin');
  await page.goto(`/guarantees/new?kind=never&principal=user:${kim}&catalog=gu_typed&name=kim+has+nothing`);
  await expect(status(page)).toContainText('Holds today');
  const description = page.getByRole('textbox', { name: 'Description' });
  const save = page.getByRole('button', { name: 'Save' });
  let judgements = 0;
  page.on('request', (request) => {
    if (request.url().endsWith('/check')) judgements += 1;
  });
  await description.fill('first');
  await expect(page).toHaveURL(/description=first/); // later than a judgement would be asked for
  expect(judgements).toBe(0);
  let release = (): void => undefined;
  await page.route('**/api/admin/guarantees', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    await new Promise<void>((resolve) => (release = resolve));
    return route.continue();
  });
  const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/guarantees'));
  await save.click();
  await sent;
  await description.fill('second');
  release();
  await expect(page.getByRole('status').filter({ hasText: 'is saved' })).toBeVisible();
  await watch.settled();
  await expect(description).toHaveValue('second');
  await save.click();
  await expect(page).toHaveURL(/\/guarantees\/\d+$/);
  await expect(description).toHaveValue('second');
});

test('a draft of a grant says which guarantee refuses it, before the button', async ({
  page,
  records,
  admin,
  signIn,
  watch,
}) => {
  const hugo = await records.person('hugo');
  const group = await records.group('gu-payroll');
  const id = await made(admin, {
    ...{ name: 'only payroll pays', kind: 'only', principals: [{ type: 'group', id: group }] },
    ...{ resource: { catalog: 'gu_pay' }, privileges: ['INSERT'] },
  });
  await signIn('admin');
  await page.goto(`/grants/new?principal=user:${hugo}&catalog=gu_pay&privilege=INSERT`);
  const gains = page.getByRole('region', { name: 'Who gains' });
  await expect(gains).toContainText('Refused by the guarantee only payroll pays');
  await expect(gains).toContainText(
    /Only gu-payroll may INSERT into gu_pay\. Broken: hugo may INSERT into gu_pay.*, by this draft\./,
  );
  await expect(gains.getByRole('link', { name: 'only payroll pays' })).toHaveAttribute('href', `/guarantees/${id}`);
  await expect(page.getByRole('form', { name: 'New grant' })).toContainText('A guarantee refuses it');
  await expectAccessible(page);

  watch.provokes(409);
  await page.getByRole('button', { name: 'Grant to 1 person' }).click();
  await expect(page.getByRole('alert')).toContainText('the guarantee "only payroll pays" is broken');
});

test('one that the provider broke shows its chain; it is changed and deleted with a recent proof', async ({
  page,
  admin,
  grantline,
  records,
  signIn,
}) => {
  const scim = new ScimClient(grantline);
  const ida = idOf(await scim.made('/Users', scimUser('ida')));
  const path = await scim.made('/Groups', scimGroup('gu-contractors'));
  const group = { type: 'group', id: Number(idOf(path)) } as const;
  await records.grant(group, 'gu_secrets');
  const id = await made(admin, {
    ...{ name: 'nobody knows', kind: 'never', principal: { type: 'everyone' } },
    ...{ resource: { catalog: 'gu_secrets' } },
  });
  await scim.patch(path, { op: 'add', path: 'members', value: [{ value: ida }] });
  await admin.post('/api/admin/acl/sync');
  await grantline.letProofsAge('admin');
  await signIn('admin');
  await page.goto('/guarantees?state=broken');
  const broken = page.getByRole('region', { name: 'Broken' });
  await expect(broken).toContainText(/nobody knows: ida may SELECT from gu_secrets.* through gu-contractors/);
  await expect(broken.getByRole('list', { name: 'How' })).toContainText('gu-contractors');
  await expect(page.getByRole('row', { name: /nobody knows/ })).toContainText(/broken today \d\d:\d\d/);
  await expectAccessible(page);
  await page.setViewportSize({ width: 320, height: 640 });
  await expectAccessible(page);
  await broken.getByRole('link', { name: 'nobody knows' }).click();
  await expect(breaches(page).getByRole('list', { name: 'How' })).toContainText('gu-contractors');
  await expect(main(page)).toContainText(
    /Broken since today \d\d:\d\d: no version is published until it is mended.*Revokes go out meanwhile\./,
  );
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
  await expectAccessible(page);

  await grantline.letProofsAge('admin');
  const password = page.getByLabel('Your password, to confirm');
  await expect(password).toBeHidden();
  await expect(page.getByRole('button', { name: 'Save' })).toBeDisabled(); // nothing is changed
  await page.getByRole('textbox', { name: 'Name' }).press('Enter');
  await page.getByRole('button', { name: 'Make it reported' }).click();
  await expect(page.getByText('no version is published')).toHaveCount(0);
  await password.fill(passwordOf('admin'));
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('status').filter({ hasText: 'is saved' })).toBeVisible();
  await page.getByRole('button', { name: 'Delete…' }).click();
  await expect(page).toHaveURL(/\/guarantees\/\d+\?ask=delete$/); // the saved draft leaves the address, and the dialog stays
  expect((await admin.get(`${GUARANTEES}/${id}`)).body).toMatchObject({ mode: 'reported', state: 'broken' });

  const dialog = page.getByRole('dialog', { name: 'Delete nobody knows?' });
  await expect(dialog).toContainText('It is no longer judged.');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await expect(page).toHaveURL(/\/guarantees$/);
  expect((await admin.get(`${GUARANTEES}/${id}`)).status).toBe(404);
});

test('a breach about acting as a group leads to its grant, because Why has no answer', async ({
  page,
  records,
  admin,
  signIn,
  watch,
}) => {
  const group = await records.group('gu-actors', await records.person('lea'));
  const { body } = await admin.post('/api/admin/grants', {
    ...{ principal: { type: 'engine', name: 'gu-airflow' }, privileges: ['IMPERSONATE'] },
    resource: { as: { type: 'group', id: group } },
  });
  await signIn('admin');
  await page.goto(`/guarantees/new?kind=never&principal=engine:gu-airflow&on=acting&as=group:${group}`);
  await expect(breaches(page).getByRole('link', { name: 'Why?' })).toHaveAttribute(
    'href',
    `/grants?state=all&grant=${Number(body?.['id'])}`,
  );
  await watch.settled();
});

test('drafts of every kind stand in their addresses', async ({ page, records, signIn, watch }) => {
  const jana = await records.person('jana');
  await signIn('admin');
  const scope = 'catalog=gu_a&privilege=INSERT';
  for (const [asked, text] of [
    [`kind=always&principal=user:${jana}&catalog=gu_a&column=c`, 'jana may always read the real values of c in gu_a.'],
    [`kind=only&except=user:${jana}&${scope}`, 'Only jana may INSERT into gu_a.'],
    [
      `kind=apart&except=user:${jana}&${scope}&and=${encodeURIComponent('catalog=gu_b&unfiltered=true')}`,
      'Nobody but jana may both INSERT into gu_a and read rows of gu_b without a row filter.',
    ],
    [`kind=at_most&count=1&${scope}`, 'At most 1 person or engine principal may INSERT into gu_a.'],
  ]) {
    await page.goto(`/guarantees/new?${asked}`);
    await expect(page.getByRole('heading', { level: 2, name: /may/ })).toHaveText(text ?? '');
    await expect(status(page)).toContainText(/ today.*, judged over /);
    await expectAccessible(page);
  }
  watch.provokes(404);
  for (const unknown of ['2000000000', 'abc', '0']) {
    await page.goto(`/guarantees/${unknown}`);
    await expect(page.getByRole('heading', { level: 1, name: 'There is no such page' })).toBeVisible();
  }
});

test('of two administrators the second is told, and overwrites nothing unseen', async ({
  page,
  records,
  admin,
  signIn,
  watch,
}) => {
  await records.administrator('gu_rosa');
  const asked = { name: 'few read', kind: 'at_most', count: 3, resource: { catalog: 'gu_twice' } };
  const path = `/guarantees/${await made(admin, asked)}`;
  const stored = async () => (await admin.get(`/api/admin${path}`)).body?.['count'];
  await signIn('admin');
  await page.goto(path);
  const count = page.getByRole('textbox', { name: 'People and engine principals' });
  await count.fill('5');
  const rosa = admin.as((await openSession(admin, 'gu_rosa')).access_token);
  expect(await rosa.send('PUT', `/api/admin${path}`, { ...asked, count: 4 })).toMatchObject({ status: 200 });

  watch.provokes(412);
  await page.getByRole('button', { name: 'Save' }).click();
  const alert = page.getByRole('alert');
  await expect(alert).toContainText('gu_rosa changed this guarantee at ');
  await expect(count).toHaveValue('5');
  expect(await stored()).toBe(4);
  await alert.getByRole('button', { name: 'Compare' }).click();
  await expect(alert).toContainText('At most 4 people and engine principals may do anything on gu_twice');
  await expectAccessible(page);
  await alert.getByRole('button', { name: 'Keep mine' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('status').filter({ hasText: 'is saved' })).toBeVisible();
  expect(await stored()).toBe(5);
});

test('one that was changed meanwhile is shown as it is, and can be deleted then', async ({
  page,
  admin,
  signIn,
  watch,
}) => {
  const guarantee = {
    kind: 'never',
    mode: 'reported',
    principal: { type: 'everyone' },
    resource: { catalog: 'gm_hr' },
  };
  const id = await made(admin, { name: 'gm first', ...guarantee });
  await signIn('admin');
  await page.goto(`/guarantees/${id}`);
  const name = page.getByRole('textbox', { name: 'Name' });
  await expect(name).toHaveValue('gm first');
  await admin.send('PUT', `${GUARANTEES}/${id}`, { name: 'gm second', ...guarantee });
  await page.evaluate(`window.dispatchEvent(new Event('visibilitychange'))`);
  await expect(name).toHaveValue('gm second');

  await admin.send('PUT', `${GUARANTEES}/${id}`, { name: 'gm third', ...guarantee });
  watch.provokes(412);
  await page.getByRole('button', { name: 'Delete…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await expect(dialog.getByRole('alert')).toContainText('changed meanwhile');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect(name).toHaveValue('gm third');
  await page.getByRole('button', { name: 'Delete…' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await expect(page).toHaveURL(/\/guarantees$/);
});
