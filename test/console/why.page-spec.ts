import { expectAccessible } from './running/accessibility.js';
import { expect, test } from './running/console-test.js';

test('why somebody may, and the line on which they do', async ({ page, records, admin, signIn }) => {
  const ina = await records.person('ina_why');
  const group = await records.group('readers-why', ina);
  const grant = await records.grant({ type: 'group', id: group }, 'why.eu');
  const masked = { catalog: 'why', schema: 'eu', table: 'orders', column: 'email' };
  const mask = { kind: 'column_mask', principal: { type: 'everyone' }, resource: masked, expression: "'***'" };
  await admin.post('/api/admin/policies', mask);
  await admin.post('/api/admin/acl/sync');
  await signIn('admin');
  await page.goto(`/why?principal=user:${ina}&privilege=SELECT&catalog=why&schema=eu&table=orders`);

  await expect(page.getByRole('heading', { level: 1 })).toHaveText(
    `ina_why may SELECT from why.eu.orders, through group readers-why, by grant ${grant} on why.eu.`,
  );
  const stations = page.getByRole('list', { name: 'How' }).getByRole('listitem');
  await expect(stations).toHaveText([
    /^.*Personina_why/,
    /Groupreaders-why/,
    /GrantGrant \d+/,
    /Nodewhy\.eu/,
    /Ruletables/,
  ]);
  await expect(page.getByRole('region', { name: 'Nearest change' })).toContainText('Deny SELECT');
  await expect(page.getByRole('table', { name: 'Limits' })).toContainText("column maskemail as '***'");
  await expectAccessible(page);

  await page.goto(`/why?principal=user:${ina}&privilege=SELECT&catalog=why&schema=eu&table=orders%24files`);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(
    /^ina_why may not SELECT from why\.eu\.orders\$files: column mask \d+ on why\.eu\.orders\.email closes companion tables, too\.$/,
  );
  await expect(page.getByRole('region', { name: 'What takes it' })).toContainText("email as '***'");
  await expectAccessible(page);
  await page.goBack();

  const privilege = page.getByRole('combobox', { name: 'Privilege' });
  await privilege.fill('INSERT');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(
    'ina_why may not INSERT into why.eu.orders: no grant reaches it.',
  );
  await expect(page).toHaveURL(/privilege=INSERT/);
  await expect(page.getByRole('region', { name: 'Nearest change' })).toContainText('Grant INSERT on why.eu.orders');
  await expectAccessible(page);

  await page.reload();
  await page.getByRole('link', { name: 'Preview this change' }).click();
  await expect(page.getByRole('checkbox', { name: 'INSERT' })).toBeChecked();
  await page.goBack();
  await expect(privilege).toHaveValue('INSERT');
  await privilege.fill('SELECT');
  await privilege.press('Escape');
  await stations.getByRole('link', { name: `Grant ${grant}` }).click();
  await expect(page.getByRole('table', { name: 'Grants' }).getByRole('row')).toHaveCount(2);
});

test('why somebody sees the queries of somebody else, and a grant on the engine begun by the nearest change', async ({
  page,
  records,
  admin,
  signIn,
}) => {
  const [lea, moe] = [await records.person('lea_why'), await records.person('moe_why')];
  const queries = { type: 'user', id: moe };
  await admin.post('/api/admin/grants', {
    principal: { type: 'user', id: lea },
    resource: { queries },
    privileges: ['VIEW_QUERIES'],
  });
  await signIn('admin');
  await page.goto(`/people/${lea}`);
  await page.getByRole('table', { name: 'Effective access' }).getByRole('link', { name: 'directly' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(
    /^lea_why may VIEW_QUERIES on queries of moe_why, directly, by grant \d+ on queries of moe_why\.$/,
  );
  await expectAccessible(page);

  await page.goto(`/why?principal=user:${lea}&privilege=KILL_QUERIES&engine=true`);
  await page.getByRole('link', { name: 'Preview this change' }).click();
  await expect(page.getByRole('radio', { name: 'Engine' })).toBeChecked();
  await expect(page.getByRole('checkbox', { name: 'KILL_QUERIES' })).toBeChecked();
});

test('the answer about one person never stands under the name of another', async ({ page, records, signIn }) => {
  const [una, vic] = [await records.person('una_why'), await records.person('vic_why')];
  await records.grant({ type: 'user', id: una }, 'slow.eu');
  await signIn('admin');
  await page.goto(`/why?principal=user:${una}&privilege=SELECT&catalog=slow&schema=eu`);
  const heading = page.getByRole('heading', { level: 1 });
  await expect(heading).toHaveText(/^una_why may SELECT/);

  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route(`**/access/explain?*principal=user%3A${vic}*`, async (route) => {
    await released;
    await route.continue();
  });
  const asked = page.waitForRequest(/access\/explain/);
  await page.getByRole('combobox', { name: 'Person or group' }).fill('vic_why');
  await page.getByRole('option', { name: 'vic_why' }).first().click();
  await asked;
  await expect(page.getByRole('status')).toHaveText('Reading why');
  await expect(heading).toHaveText('Why');
  await expect(page.getByRole('region', { name: 'Nearest change' })).toHaveCount(0);
  release();
  await expect(heading).toHaveText(/^vic_why may not SELECT/);
});

test('people ask why about themselves alone, and copy what to ask for', async ({
  page,
  context,
  records,
  admin,
  signIn,
}) => {
  const joe = await records.person('joe_why');
  await records.grant({ type: 'user', id: joe }, 'own.a');
  const deny = { kind: 'deny', principal: { type: 'everyone' }, resource: { catalog: 'own', schema: 'b' } };
  const policy = Number((await admin.post('/api/admin/policies', { ...deny, privileges: ['INSERT'] })).body?.['id']);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await signIn('joe_why');
  await page.goto('/why?principal=user:1&privilege=SELECT&catalog=own&schema=b&table=t');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(
    'You may not SELECT from own.b.t: no grant of yours reaches it.',
  );
  await expect(page.getByRole('combobox', { name: 'Person or group' })).toHaveCount(0);
  await expect(page.getByText('Only administrators see why about others. This answer is about you.')).toBeVisible();
  await expectAccessible(page);
  const copy = page.getByRole('button', { name: 'Copy a request' });
  const copied = () => page.evaluate('navigator.clipboard.readText()');
  await copy.click();
  await expect.poll(copied).toBe('Please, for joe_why: Grant SELECT on own.b.t to joe_why.');
  await page.goto('/why?privilege=INSERT&catalog=own&schema=b&table=t');
  await expect(page.getByRole('region', { name: 'Nearest change' })).toContainText(`Except you from policy ${policy}.`);
  await copy.click();
  await expect
    .poll(copied)
    .toBe(`Please, for joe_why: Grant INSERT on own.b.t to joe_why. Except joe_why from policy ${policy}.`);
  await page.goto(`/why?principal=user:${joe}&privilege=SELECT&catalog=own&schema=a&table=t`);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^You may SELECT from own\.a\.t/);
  await expect(page.getByText('Only administrators see why about others.')).toBeHidden();
  await expect(page.getByRole('region', { name: 'Nearest change' })).toBeVisible();
  await expect(copy).toHaveCount(0);
});

test('the nearest change is a filled draft, of what gives as of what takes', async ({
  page,
  records,
  admin,
  signIn,
}) => {
  const [ned, may] = [await records.person('ned_why'), await records.person('may_why')];
  await records.grant({ type: 'user', id: ned }, 'nd.eu');
  const grant = await records.grant({ type: 'user', id: may }, 'nd.eu.orders');
  const deny = {
    kind: 'deny',
    principal: { type: 'everyone' },
    resource: { catalog: 'nd', schema: 'eu', table: 'pay' },
  };
  const except = [{ type: 'user', id: may }];
  const policy = Number((await admin.post('/api/admin/policies', { ...deny, except })).body?.['id']);
  await signIn('admin');
  const open = async (asked: string, change: string): Promise<void> => {
    await page.goto(`/why?privilege=SELECT&${asked}`);
    await page.getByRole('region', { name: 'Nearest change' }).getByRole('link', { name: change }).click();
  };

  await open(`principal=user:${ned}&catalog=nd&schema=eu&table=orders`, 'Preview this change');
  await expect(page).toHaveURL(/\/policies\/new\?/);
  await expect(page.getByRole('radio', { name: 'Deny' })).toBeChecked();
  await expect(page.getByRole('combobox', { name: 'Person or group' })).toHaveValue('ned_why');
  await expect(page.getByRole('combobox', { name: 'Table' })).toHaveValue('orders');
  await expect(page.getByRole('checkbox', { name: 'SELECT', exact: true })).toBeChecked();
  await expect(page.getByRole('region', { name: 'Who loses' }).getByRole('listitem')).toHaveText([
    'NWned_why (person)',
  ]);
  await expectAccessible(page);

  await open(`principal=user:${may}&catalog=nd&schema=eu&table=orders`, `Revoke grant ${grant}`);
  const revoke = page.getByRole('dialog', { name: `Revoke grant ${grant}?` });
  await expect(revoke.getByRole('region', { name: 'Who loses' })).toContainText('may_why');

  await open(`principal=user:${ned}&catalog=nd&schema=eu&table=pay`, `Change policy ${policy}`);
  await expect(page).toHaveURL(new RegExp(`/policies/${policy}\\?`));
  await expect(page.getByRole('group', { name: 'Except' }).getByRole('button', { name: /^Remove/ })).toHaveText([
    '',
    '',
  ]);
  await expect(page.getByRole('region', { name: 'Who gains' }).getByRole('listitem')).toHaveText([
    'NWned_why (person)',
  ]);
  await expect(page.getByRole('button', { name: 'Save' })).toBeEnabled();
});

/** A sequence that is the same in every run (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

test('Why agrees with the API about anybody and anything', async ({ page, records, admin, signIn }) => {
  const [amy, bea, kit] = [
    await records.person('amy_why'),
    await records.person('bea_why'),
    await records.person('kit_why'),
  ];
  const [some, others] = [await records.group('some-why', amy, bea), await records.group('others-why', kit)];
  await records.grant({ type: 'group', id: some }, 'rw.a', ['SELECT', 'INSERT']);
  await records.grant({ type: 'user', id: amy }, 'rw', ['SELECT']);
  await records.grant({ type: 'group', id: others }, 'rw.b.t', ['SELECT'], '2098-01-01T00:00:00Z');
  await admin.post('/api/admin/policies', {
    kind: 'deny',
    principal: { type: 'user', id: bea },
    resource: { catalog: 'rw', schema: 'a', table: 't' },
  });
  await admin.patch(`/api/admin/users/${kit}`, { is_active: false });
  await signIn('admin');
  await page.goto('/why');

  const random = randomOf(29);
  const one = <T>(of: readonly T[]): T => of[random(of.length)] as T;
  for (let round = 0; round < 12; round += 1) {
    const [schema, table] = [one(['a', 'b']), one(['t', 'u'])];
    const asked = new URLSearchParams({
      principal: one([`user:${amy}`, `user:${bea}`, `user:${kit}`, `group:${some}`]),
      privilege: one(['SELECT', 'INSERT']),
      ...{ catalog: 'rw', schema, table },
    }).toString();
    const { body } = await admin.get(`/api/admin/access/explain?${asked}`);
    await page.evaluate(`history.pushState(null, '', '/why?${asked}')`);

    const may = body?.['allowed'] === true ? 'may ' : 'may not ';
    const privilege = asked.includes('INSERT') ? 'INSERT into' : 'SELECT from';
    const heading = page.getByRole('heading', { level: 1 });
    await expect(heading, asked).toContainText(`${may}${privilege} rw.${schema}.${table}`);
    await expect(page.locator('.chain'), asked).toHaveCount(Math.min(3, (body?.['ways'] as unknown[]).length));
  }
});
