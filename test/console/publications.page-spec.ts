import { mkdirSync } from 'node:fs';
import { brokenBuild, ONE_GROUP_ALONE } from '../support/rules/planted-fault.js';
import { expectAccessible } from './running/accessibility.js';
import { expect, passwordOf, test } from './running/console-test.js';
import type { Grantline } from './running/grantline.js';

// Versions and what waits are of the whole service: a setting that differs gives this file one of its own.
test.use({ environment: { ACL_WRITABLE_CATALOGS: 'lake', ACL_MAX_UNEXPLAINED_PERCENT: '5' } });
test.describe.configure({ mode: 'serial' });

async function behindItsBack(grantline: Grantline, statement: string): Promise<void> {
  const database = await grantline.database();
  await database.query(statement);
  await database.end();
}

/** Sign-ins shortly before the snapshot of a version, by default more than one page of the audit trail. */
const SIGN_INS_BEFORE = (version: number, count = 300): string =>
  `INSERT INTO audit_events (at, event, details)
     SELECT snapshot_at - interval '1 millisecond', 'login_succeeded', '{}' FROM acl_publications, generate_series(1, ${count}) WHERE version = ${version}`;

test('what is published stands on the timeline and in the table, with its difference', async ({
  page,
  grantline,
  records,
  signIn,
}) => {
  const carla = await records.person('carla');
  await records.grant({ type: 'user', id: carla }, 'sales.eu.orders');
  await signIn('admin');

  await page.goto('/publications');
  await expect(page.getByRole('heading', { name: 'Nothing was published yet' })).toBeVisible();
  await page.getByRole('button', { name: 'Publish now' }).click();
  await expect(page.getByText('Version 1 was published.')).toBeVisible();
  const timeline = page.getByRole('img', { name: /^Publications of the last 24 hours: 1 version / });
  await expect(timeline).toBeVisible();
  const hour = `interval '1 hour'`;
  await behindItsBack(
    grantline,
    `UPDATE acl_publications SET begun_at = begun_at - ${hour}, published_at = published_at - ${hour}`,
  );
  await page.reload();
  await expect(timeline).toBeVisible();
  expect(Number(await timeline.locator('circle').getAttribute('cx'))).toBeLessThan(100);
  for (const table of Array.from({ length: 60 }, (_, i) => `sales.eu.t${i}`)) {
    await records.grant({ type: 'user', id: carla }, table);
  }
  await page.getByRole('button', { name: 'Publish now' }).click();
  await page.getByRole('table', { name: 'Publications' }).getByRole('link', { name: '2' }).click();
  const gains = page.getByRole('region', { name: 'Who gains' });
  await expect(gains.getByRole('link', { name: 'carla (person)' })).toBeVisible();
  await expect(gains.locator('.privilege').first()).toHaveText('SELECT');
  await expect(gains.getByText('1 person', { exact: true })).toBeVisible();
  await expect(page.getByText('1 person gains SELECT on sales.eu.t0 and 59 more things.')).toBeVisible();
  const causes = page.getByRole('region', { name: 'Recorded changes' });
  await expect(causes.getByRole('listitem').first()).toContainText(/admin.*grant \d+: SELECT on sales.eu.t59 to carla/);
  await expect(causes).toContainText('60');
  // A grant that was made while version 1 was being made, after its snapshot: version 2 has it.
  await behindItsBack(grantline, `UPDATE acl_publications SET snapshot_at = snapshot_at - ${hour} WHERE version = 1`);
  await page.reload();
  await expect(causes).toContainText('61');
  await behindItsBack(grantline, SIGN_INS_BEFORE(2));
  await page.reload();
  await expect(causes).toContainText('61');
  await expect(causes).not.toContainText('61+');
  await expect(page.getByRole('link', { name: 'How to undo it' })).toHaveAttribute('href', /^\/why\?.*table=t0$/);
  await expect(page.getByRole('region', { name: 'Rules added' })).toContainText('"user":"carla"');
  await expect(page.getByRole('region', { name: 'Rules removed' })).toBeVisible();
  await expectAccessible(page);
});

test('nothing moves while the page loads', async ({ page, signIn }) => {
  await signIn('admin');
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/api/admin/acl/**', async (route) => {
      await released;
      await route.continue();
    });
    await page.goto('/publications');
    const table = page.getByRole('table', { name: 'Publications' });
    const places = async () => {
      const boxes = [page.getByRole('region', { name: 'Last 24 hours' }), table].map((each) => each.boundingBox());
      return (await Promise.all(boxes)).map((box) => box?.y);
    };
    await expect(table.locator('.skeleton').first()).toBeVisible();
    const before = await places();
    release();
    await expect(table.getByRole('link', { name: '2' })).toBeVisible();
    await expect(page.getByText('Reading what is live')).toBeHidden();
    expect(await places(), `${width}`).toEqual(before);
    await page.unroute('**/api/admin/acl/**');
  }
});

test('an unexplained change waits; a change that is no longer proposed is explained; approving asks for the password', async ({
  page,
  grantline,
  admin,
  records,
  signIn,
  watch,
}) => {
  await signIn('admin');
  await page.goto('/publications');
  const history = page.getByRole('table', { name: 'Publications' });
  await expect(history.getByRole('link', { name: '2' })).toBeVisible();
  await behindItsBack(grantline, `DELETE FROM grants WHERE table_name LIKE 't%'`);
  await admin.post('/api/admin/acl/sync');
  const waiting = page.getByRole('region', { name: 'Waiting for approval' });
  await expect(waiting).toContainText(
    '1 person loses SELECT on sales.eu.t0 and 59 more things, and no recorded change explains it.',
  );
  await expect(waiting).toContainText(/\d+\.\d % of all access changes\./);
  await expect(history.getByRole('link', { name: 'Run' })).toHaveCount(1);
  await expect(page.getByRole('img', { name: /waits for approval/ })).toContainText('−1');
  await expect(waiting.getByRole('link', { name: 'How to undo it' })).toBeVisible();
  await expectAccessible(page);

  await waiting.getByRole('link', { name: 'See the change' }).click();
  await expect(page.getByRole('region', { name: 'Rules removed' })).toContainText('carla');
  await expectAccessible(page);
  await page.goBack();

  await waiting.getByRole('button', { name: 'Approve this change' }).click();
  const dialog = page.getByRole('dialog', { name: 'Approve this change?' });
  const password = dialog.getByLabel('Your password, to confirm');
  await expect(password).toBeFocused();
  await records.grant({ type: 'engine', name: 'a-pipeline' }, 'sales.eu.orders');
  await admin.post('/api/admin/acl/sync');
  watch.provokes(401, 409);
  await password.fill('a guess');
  await dialog.getByRole('button', { name: 'Approve' }).click();
  await expect(dialog.getByRole('alert')).toContainText('invalid_credentials');
  await password.fill(passwordOf('admin'));
  await dialog.getByRole('button', { name: 'Approve' }).click();
  await expect(dialog.getByRole('alert')).toContainText('This change is no longer proposed.');
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  await page.reload();
  await waiting.getByRole('button', { name: 'Approve this change' }).click();
  await password.fill(passwordOf('admin'));
  await dialog.getByRole('button', { name: 'Approve' }).click();
  await expect(dialog).toBeHidden();
  await expect(
    page.getByText(/^Change [0-9a-f]{8} is approved\. It is live with the next publication\.$/),
  ).toBeVisible();
  await page.getByRole('button', { name: 'Publish now' }).click();
  await expect(page.getByText('Version 3 was published.')).toBeVisible();
  await expect(waiting).toBeHidden();
});

test('a fault of the compiler shows its counterexample, and nothing is published', async ({
  page,
  grantline,
  records,
  signIn,
}, testInfo) => {
  const dual = await records.person('reader_and_writer');
  const [readers, writers] = [await records.group('pb-readers', dual), await records.group('pb-writers', dual)];
  await records.grant({ type: 'group', id: readers }, 'sales.eu.orders', ['SELECT']);
  await records.grant({ type: 'group', id: writers }, 'sales.eu.orders', ['INSERT']);
  const folder = testInfo.outputPath();
  mkdirSync(folder, { recursive: true });
  await grantline.command(['acl', 'sync'], brokenBuild(folder, ONE_GROUP_ALONE));
  await signIn('admin');
  await page.goto('/publications');
  const counterexample = page.getByRole('region', { name: 'Counterexample' });
  await expect(counterexample).toContainText(ONE_GROUP_ALONE.found);
  await expect(counterexample).toContainText('The last run was refused by the checks below. Revokes go out meanwhile.');
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Version 3');
  await expectAccessible(page);
  await page.getByRole('table', { name: 'Publications' }).getByRole('link', { name: 'Run' }).first().click();
  await expect(
    counterexample.filter({
      hasText: 'Why this run did not publish the grants as they were. At most revokes went out.',
    }),
  ).toContainText(ONE_GROUP_ALONE.found);
  const behind = { version: 9, hash: 'f'.repeat(64), found_at: '2026-01-01T00:00:00.000Z' };
  const impossible = { code: 'withdrawal-impossible', severity: 'error', message: 'revoked access stays open' };
  for (const [change, hint] of [
    [{ last_reasons: [impossible] }, 'The rules before it stay.'],
    [{ published: null, live: null }, 'The rules before it stay.'],
    [{ database_behind: behind }, 'At most revokes go out meanwhile.'],
  ] as const) {
    await page.route('**/api/admin/acl/status', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...((await answer.json()) as object), ...change } });
    });
    await page.goto('/publications');
    await expect(counterexample).toContainText(`The last run was refused by the checks below. ${hint}`);
    await page.unroute('**/api/admin/acl/status');
  }
});

test('the audit trail leads to what it is about', async ({ page, signIn }) => {
  await signIn('admin');
  await page.goto('/audit?event=publication_applied');
  await expect(page.getByRole('button', { name: 'Remove Event publication applied' })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('table', { name: 'Audit' }).getByRole('link', { name: 'version 3' }).click();
  await expect(page.getByRole('heading', { level: 1, name: /^Version 3/ })).toBeVisible();
});

test('a revoke takes what it said, is published, and stands on the timeline', async ({ page, signIn }) => {
  await signIn('admin');
  await page.goto('/grants?q=carla');
  await page.getByRole('table', { name: 'Grants' }).getByRole('button', { name: 'Revoke' }).click();
  const dialog = page.getByRole('dialog', { name: /^Revoke grant \d+\?$/ });
  await expect(dialog.getByRole('region', { name: 'Who loses' })).toContainText('carla');
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('link', { name: 'Publications' }).click();
  await page.getByRole('button', { name: 'Publish now' }).click();
  await expect(page.getByText('Version 4 was published.')).toBeVisible();
  const published = page.getByRole('table', { name: 'Publications' }).getByRole('row').nth(1);
  await expect(published).toContainText(/^4.*−\d+ lose/);
  await expect(page.getByRole('img', { name: /^Publications of the last 24 hours: 4 versions / })).toBeVisible();
  await published.getByRole('link', { name: '4' }).click();
  await expect(page.getByRole('region', { name: 'Who loses' })).toContainText('carla');
});

test('an older version is restored by who gives the password, and so is that ended', async ({
  page,
  grantline,
  signIn,
}) => {
  await signIn('admin');
  await grantline.letProofsAge('admin');
  await page.goto('/publications/2');
  const restore = page.getByRole('button', { name: 'Restore' });
  await restore.click();
  const older = page.getByRole('dialog', { name: 'Restore version 2?' });
  await expect(older).toContainText(/1 person gains SELECT on sales\.eu\.orders and \d+ more things(?!, \d)/);
  await expect(older.getByRole('region', { name: 'Who gains' })).toContainText('carla');
  await expect(older.getByRole('region', { name: 'Who loses' })).toContainText('a-pipeline');
  await expectAccessible(page);
  await older.getByRole('button', { name: 'Cancel' }).click();
  await page.goto('/publications/4');
  await restore.click();
  const dialog = page.getByRole('dialog', { name: 'Restore version 4?' });
  await expect(dialog).toContainText('Nobody gains or loses anything, compared with version 4.');
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('too wide');
  await dialog.getByLabel('Your password, to confirm').fill(passwordOf('admin'));
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Restore' }).click();
  await expect(dialog).toBeHidden();

  await grantline.letProofsAge('admin');
  await page.goto('/publications');
  await page.getByRole('button', { name: 'End the restore' }).click();
  const end = page.getByRole('dialog', { name: 'End the restore?' });
  await end.getByLabel('Your password, to confirm').fill(passwordOf('admin'));
  await expectAccessible(page);
  await end.getByRole('button', { name: 'End the restore' }).click();
  await expect(end).toBeHidden();
  await expect(page.getByRole('button', { name: 'End the restore' })).toBeHidden();
  await expect(page).toHaveURL(`${grantline.url}/publications`);
});

test('a version has its recorded changes, also without the version before; one of an older snapshot has none', async ({
  page,
  grantline,
  signIn,
  watch,
}) => {
  await signIn('admin');
  const causes = page.getByRole('region', { name: 'Recorded changes' });
  await behindItsBack(
    grantline,
    `UPDATE acl_publications SET state = 'abandoned', published_at = NULL WHERE version = 3`,
  );
  await behindItsBack(grantline, SIGN_INS_BEFORE(4));
  watch.provokes(404);
  await page.goto('/publications/4');
  await expect(causes.getByRole('listitem').first()).toContainText(/admin.*grant revoked/);
  await expect(causes).toContainText('There is no version 3');
  await behindItsBack(
    grantline,
    `UPDATE acl_publications SET snapshot_at = snapshot_at - interval '1 day' WHERE version = 5`,
  );
  const asked = page.waitForRequest(/api\/admin\/audit/);
  await page.goto('/publications/5');
  const { searchParams } = new URL((await asked).url());
  expect(searchParams.get('from')).toBe(searchParams.get('to'));
  await behindItsBack(grantline, SIGN_INS_BEFORE(2, 4_000));
  await page.goto('/publications/2');
  await expect(causes).toContainText('0+');
  await causes.getByRole('button', { name: 'Search older events' }).click();
  await expect(causes).toContainText('61');
  await expect(causes.getByRole('button', { name: 'Search older events' })).toBeHidden();
});
