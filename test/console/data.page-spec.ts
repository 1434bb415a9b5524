import { column } from '../support/fakes/fake-trino.js';
import type { ScriptedPage } from '../support/fakes/fake-trino-statement.js';
import { expectAccessible } from './running/accessibility.js';
import { expect, test } from './running/console-test.js';

test.use({ environment: { ACL_READABLE_CATALOGS: 'lake' } });

const VARCHAR = { ...column('_col0', 'varchar'), typeSignature: { rawType: 'varchar', arguments: [] } };
const PAGE = 1000;
const ALL = Array.from({ length: 60_000 }, (_, at) => `events_${String(at).padStart(5, '0')}`);
const pageOfTables = (q: string, after: string): ScriptedPage => {
  const found = ALL.filter((name) => name.includes(q));
  const rows = found.filter((name) => name > after).slice(0, PAGE + 1);
  return { columns: [VARCHAR, column('total', 'bigint')], data: rows.map((name) => [name, found.length]) };
};
const tablesOf = (q: string, after: string): string =>
  `EXECUTE IMMEDIATE 'SELECT name, total FROM (SELECT table_name AS name, count(*) OVER () AS total ` +
  `FROM "lake".information_schema.tables WHERE table_schema = ? AND strpos(table_name, ?) > 0) ` +
  `WHERE name > ? ORDER BY name LIMIT ${PAGE + 1}' USING 'raw', '${q}', '${after}'`;

test('everybody who reaches a table, with the way to it', async ({ page, records, signIn }) => {
  const [ana, bo, cy] = [await records.person('ana_lund'), await records.person('bob'), await records.person('cyd')];
  const analysts = await records.group('analysts', ana, bo);
  await records.grant({ type: 'group', id: analysts }, 'sales.eu');
  await records.grant({ type: 'user', id: cy }, 'sales.eu.orders', ['SELECT', 'INSERT']);
  await records.grant({ type: 'engine', name: 'airflow' }, 'sales', ['SELECT']);
  await signIn('admin');
  await page.goto('/data/sales/eu/orders');

  await expect(page).toHaveTitle('sales.eu.orders · Grantline');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('sales.eu.orders');
  const table = page.getByRole('table', { name: 'People with access' });
  await expect(table.getByRole('columnheader')).toHaveText(['Person', 'May', 'Limits', 'Why']);
  await expect(table.getByRole('row', { name: /ana_lund/ })).toContainText(
    'through group analysts, inherited from sales.eu',
  );
  await expect(page.getByRole('tabpanel').getByRole('status')).toHaveText('3 people, 1 engine principal');
  const tree = page.getByRole('navigation', { name: 'Data tree' });
  await expect(tree.getByRole('link', { name: 'orders 3 people, 1 engine principal' })).toBeVisible();
  await expect(tree.getByRole('link', { name: 'sales 3 people, 1 engine principal' })).toBeVisible();
  for (const tab of ['Who', 'Grants', 'Policies'])
    await expect(page.getByRole('tab', { name: tab, exact: true })).toBeVisible();
  await expect(page.getByRole('tab', { name: 'Routines' })).toHaveCount(0);
  await expectAccessible(page);

  await page.getByRole('button', { name: 'analysts 2' }).click();
  await expect(table.getByRole('row')).toHaveCount(3);
  await page.reload();
  await expect(table.getByRole('row')).toHaveCount(3);
  await expect(page.getByRole('button', { name: 'analysts 2' })).toHaveAttribute('aria-pressed', 'true');
  await page.getByRole('tab', { name: 'Grants' }).click();
  await expect(page.getByRole('table', { name: 'Grants' }).getByRole('row')).toHaveCount(4);
  await expectAccessible(page);
  await page.goBack();
  await expect(table.getByRole('row')).toHaveCount(3);

  await page.goto('/data/sales');
  await expect(table.getByRole('row')).toHaveText([/^Person/, /airflow/]);
  const inside = page.getByRole('table', { name: 'People with something in it' });
  await expect(inside.getByRole('row', { name: /ana_lund/ })).toContainText('SELECT sales.eu');
  await expect(inside.getByRole('row', { name: /cyd/ })).toContainText('INSERT sales.eu.orders');
  await expect(page.getByRole('tabpanel').getByRole('status')).toHaveText(
    '0 people, 1 engine principal; something in it: 3 people',
  );
  await expectAccessible(page);
});

test('a name is text, whatever it is, and has a page', async ({ page, records, signIn }) => {
  const dee = await records.person('dee');
  await records.grant({ type: 'user', id: dee }, 'odd.s.<script>alert(1)</script>%');
  await signIn('admin');
  await page.goto('/data');
  const tree = page.getByRole('navigation', { name: 'Data tree' });
  await tree.getByRole('link', { name: /^odd/ }).click();
  await tree.getByRole('link', { name: /^s 1/ }).click();
  await expect(page.getByRole('tab', { name: 'Routines' })).toBeVisible();
  await tree.getByRole('link', { name: '<script>alert(1)</script>%' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('odd.s.<script>alert(1)</script>%');
  await page.reload();
  await expect(page.getByRole('table', { name: 'People with access' }).getByRole('row', { name: /dee/ })).toBeVisible();
});

test('sixty thousand tables of a schema are scrolled and searched', async ({ page, grantline, signIn, records }) => {
  const { engine } = grantline;
  engine.answers('SHOW CATALOGS', { columns: [VARCHAR], data: [['lake']] });
  engine.answers('SELECT schema_name FROM "lake".information_schema.schemata', { columns: [VARCHAR], data: [['raw']] });
  for (const [q, after] of [
    ['', ''],
    ['', 'events_00998'],
    ['59999', ''],
  ] as const)
    engine.answers(tablesOf(q, after), pageOfTables(q, after));
  const eve = await records.person('eve');
  await records.grant({ type: 'user', id: eve }, 'lake.raw.dropped');
  await signIn('admin');
  await page.goto('/data/lake/raw');

  const tree = page.getByRole('navigation', { name: 'Data tree' });
  const search = page.getByRole('textbox', { name: 'Search' });
  await expect(search).toHaveAttribute('placeholder', '60,000 tables');
  await expect(tree.getByRole('link', { name: 'events_00000' })).toBeVisible();
  await expect(tree.getByRole('link', { name: /dropped \(not in the engine\)/ })).toBeVisible();
  expect(await tree.getByRole('listitem').count()).toBeLessThanOrEqual(60);
  await tree.getByRole('listitem').first().hover();
  await page.mouse.wheel(0, 28 * 1100);
  await expect(tree.getByRole('link', { name: 'events_01000' })).toBeVisible();
  await page.mouse.wheel(0, 28 * 50);
  await expect(tree.getByRole('link', { name: 'events_01035' })).toBeVisible();
  expect(await tree.getByRole('listitem').count()).toBeLessThanOrEqual(60);

  await page.keyboard.press('/');
  await page.keyboard.type('59999');
  await tree.getByRole('link', { name: 'events_59999' }).click();
  await expect(page).toHaveURL(/\/data\/lake\/raw\/events_59999\?q=59999$/);
  const service = page.getByRole('row', { name: /grantline engine/ });
  await expect(service).toContainText('by the settings of this service');
  await expectAccessible(page);
  await page.goto('/data/lake?q=drop');
  await tree.getByRole('link', { name: /dropped/ }).click();
  await expect(page.getByText('the engine does not list it. They take effect')).toBeVisible();
});

test('names of one catalog are never offered under another', async ({ page, records, signIn }) => {
  const group = await records.group('readers-of-two-catalogs');
  for (const path of ['kp_first.only_first', 'kp_second.only_second']) {
    await records.grant({ type: 'group', id: group }, path);
  }
  await signIn('admin');
  let release = (): void => undefined;
  const hold = async (): Promise<void> => {
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/api/admin/catalog?**under=kp_second**', async (route) => {
      await released;
      await route.continue();
    });
  };
  await page.goto('/data/kp_first');
  const tree = page.getByRole('navigation', { name: 'Data tree' });
  await expect(tree.getByRole('link', { name: /^only_first/ })).toBeVisible();
  await hold();
  await tree.getByRole('link', { name: /^kp_second/ }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('kp_second');
  await expect(tree.getByRole('link', { name: /^only_first/ })).toHaveCount(0);
  release();
  await expect(tree.getByRole('link', { name: /^only_second/ })).toBeVisible();
  await page.unroute('**/api/admin/catalog?**under=kp_second**');

  await page.goto('/grants/new?catalog=kp_first');
  const schema = page.getByRole('combobox', { name: 'Schema' });
  await schema.click();
  await expect(page.getByRole('option')).toHaveText(['only_first']);
  await hold();
  await page.getByRole('combobox', { name: 'Catalog' }).fill('kp_second');
  const asked = page.waitForRequest(/under=kp_second/);
  await schema.click();
  await asked;
  await expect(page.getByRole('option')).toHaveCount(0);
  release();
  await expect(page.getByRole('option')).toHaveText(['only_second']);
});

test('rows of a second long list are there when they are scrolled to', async ({ page, grantline, records, signIn }) => {
  await records.person('lg_nobody');
  const database = await grantline.database();
  await database.query(
    `WITH names AS (SELECT 'lg_' || lpad(i::text, 3, '0') AS name FROM generate_series(1, 200) AS i),
       claimed AS (INSERT INTO principal_names (name, holder, claimed_at, account_key) SELECT name, 'account', now(), name FROM names),
       people AS (INSERT INTO users (username, role, is_active, created_at, source)
         SELECT name, 'user', true, now(), 'local' FROM names RETURNING id, username)
     INSERT INTO grants (user_id, catalog_name, schema_name, privileges, granted_at)
       SELECT id, 'lg_sales', CASE WHEN username > 'lg_100' THEN 'eu' END, '{SELECT}', now() FROM people`,
  );
  await database.end();
  await signIn('admin');
  await page.goto('/data/lg_sales');
  const inside = page.getByRole('table', { name: 'People with something in it' });
  await expect(inside).toHaveAttribute('aria-rowcount', '101');
  await page.evaluate(`document.querySelector('[aria-label="People with something in it"]').scrollIntoView()`);
  await expect(inside.getByRole('link', { name: 'lg_101' })).toBeInViewport();
  await expect(inside.getByRole('link', { name: 'lg_110' })).toBeInViewport();
});
