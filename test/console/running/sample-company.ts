import type { ApiClient } from '../../support/service/api-client.js';
import { Records } from './records.js';

const PEOPLE = ['ruth_abernathy', 'tomas_okafor', 'lena_fischer', 'marta_silva', 'jonas_weber', 'aiko_tanaka'] as const;

/**
 * Korrin Trading, an invented company, for pictures and for looking: groups, grants on every level, a row filter, a mask, a
 * deny, a guarantee that holds, a broken one, and one publication with a change that waits for the next.
 */
export async function fillSampleCompany(admin: ApiClient): Promise<void> {
  const records = new Records(admin);
  const priya = await records.person('priya_raman');
  const others = await Promise.all(PEOPLE.map((name) => records.person(name)));
  const [ruth = 0, tomas = 0, ...analysts] = others;
  const euAnalysts = await records.group('eu-analysts', priya, ...analysts);
  const finance = await records.group('finance', tomas, ruth, 'engine:invoice-export');
  const stewards = await records.group('data-stewards', ruth);

  const group = (id: number) => ({ type: 'group', id }) as const;
  await records.grant(group(euAnalysts), 'sales.eu');
  await records.grant(group(finance), 'finance.ledger', ['SELECT', 'INSERT']);
  await records.grant(group(stewards), 'sales', ['SELECT', 'OWNERSHIP']);
  await records.grant({ type: 'engine', name: 'orders-pipeline' }, 'sales.eu.orders', ['SELECT', 'INSERT', 'DELETE']);
  await records.grant({ type: 'user', id: priya }, 'marketing.web.visits', ['SELECT'], '2030-11-30T00:00:00Z');
  const orders = { catalog: 'sales', schema: 'eu', table: 'orders' };
  for (const policy of [
    { kind: 'row_filter', principal: group(euAnalysts), resource: orders, expression: "country <> 'CH'" },
    {
      kind: 'column_mask',
      principal: group(euAnalysts),
      resource: { ...orders, column: 'customer_email' },
      expression: "'***'",
    },
  ]) {
    await made(admin, '/api/admin/policies', policy);
  }
  for (const guarantee of [
    {
      name: 'only finance writes the ledger',
      kind: 'only',
      principals: [group(finance)],
      resource: { catalog: 'finance' },
    },
    {
      ...{ name: 'analysts see no invoices', kind: 'never', principal: group(euAnalysts), mode: 'reported' },
      ...{ resource: { catalog: 'sales', schema: 'eu', table: 'invoices' }, privileges: ['SELECT'] },
    },
  ]) {
    await made(admin, '/api/admin/guarantees', guarantee);
  }
  await made(admin, '/api/admin/acl/sync');
  await records.grant({ type: 'user', id: tomas }, 'sales.eu.invoices');
}

async function made(admin: ApiClient, path: string, body?: unknown): Promise<void> {
  const answer = await admin.post(path, body);
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
}
