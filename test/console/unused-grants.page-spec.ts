import { expectAccessible } from './running/accessibility.js';
import { expect, test } from './running/console-test.js';

test.use({
  environment: {
    ACL_TARGET: 'file,opa',
    OPA_TOKEN: 'the-token-of-opa-0123456789-abcdef',
    OPA_DECISION_LOGS_ENABLED: 'true',
  },
});

test('a grant that decided nothing for 90 days says so, and a filter lists such grants', async ({
  page,
  records,
  grantline,
  signIn,
}) => {
  const [una, van] = [await records.person('un_una'), await records.person('un_van')];
  const unused = await records.grant({ type: 'user', id: una }, 'un_sales');
  const used = await records.grant({ type: 'user', id: una }, 'un_stock');
  await records.grant({ type: 'user', id: van }, 'un_sales');
  const database = await grantline.database();
  await database.query(`INSERT INTO decision_logs (since) VALUES (current_date - 200)`);
  await database.query(`UPDATE grants SET granted_at = now() - interval '100 days' WHERE id IN ($1, $2)`, [
    unused,
    used,
  ]);
  await database.query(
    `INSERT INTO grant_uses (grant_id, person, privilege, day, decisions) VALUES ($1, 'un_una', 'SELECT', current_date, 3)`,
    [used],
  );
  await database.end();
  await signIn('admin');

  await page.goto(`/grants?principal=user:${una}`);
  const table = page.getByRole('table', { name: 'Grants' });
  await expect(table.getByRole('row', { name: /un_sales/ })).toContainText('decided nothing in 90 days');
  await expect(table.getByRole('row', { name: /un_stock/ })).not.toContainText('decided nothing');
  await expectAccessible(page);

  await page.goto('/grants?unused=90');
  await expect(table.getByRole('row')).toHaveText([/^Holder/, /un_una.*un_sales/, /un_van.*un_sales.*today/]);
  await expect(table.getByText('decided nothing in 90 days')).toHaveCount(1); // the other one is from today
  await expectAccessible(page);
});
