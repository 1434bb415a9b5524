import assert from 'node:assert/strict';

import type { Deployment } from './deployment.js';

interface Principal {
  type: 'user' | 'group';
  id: number;
}

const MARKER = { applied: 'TRINO_ACL_SYNC_APPLIED', no_change: 'TRINO_ACL_SYNC_NO_CHANGE' };

/** One run of the sync by REST, until the log has it and the engine uses the published rules. @returns the outcome */
export async function publish(deployment: Deployment): Promise<keyof typeof MARKER> {
  const { status, body } = await deployment.administrator.post('/api/admin/acl/sync');
  assert.equal(status, 200, JSON.stringify(body));
  const { outcome, publication } = body as { outcome: keyof typeof MARKER; publication: { hash: string } };
  assert.ok(outcome in MARKER, JSON.stringify(body));
  await deployment.untilLogged(MARKER[outcome], publication.hash);
  await deployment.untilLive();
  return outcome;
}

/** The same by a Job of the chart's CronJob. */
export async function publishByJob(deployment: Deployment): Promise<keyof typeof MARKER> {
  const log = await deployment.grantline.syncByHand();
  const outcome = (['applied', 'no_change'] as const).find((known) => log.includes(MARKER[known]));
  if (outcome === undefined) throw new Error(`the Job's log has no outcome: ${log}`);
  await deployment.untilLive();
  return outcome;
}

/** @param path `catalog.schema` or `catalog.schema.table` */
export async function grant(
  deployment: Deployment,
  principal: Principal,
  path: string,
  privilege: string,
): Promise<void> {
  const [catalog, schema, table] = path.split('.');
  const { status, body } = await deployment.administrator.post('/api/admin/grants', {
    principal,
    resource: { catalog, schema, ...(table === undefined ? {} : { table }) },
    privileges: [privilege],
  });
  assert.equal(status, 201, JSON.stringify(body));
}

export async function revokeGrantsOf(deployment: Deployment, name: string): Promise<void> {
  const { body } = await deployment.administrator.get(`/api/admin/grants?principal=user:${deployment.person(name).id}`);
  const { items } = body as { items: { id: number }[] };
  assert.equal(items.length, 1);
  for (const { id } of items) {
    assert.equal((await deployment.administrator.delete(`/api/admin/grants/${id}`)).status, 204);
  }
}

export async function makeGroup(deployment: Deployment, name: string, members: readonly string[]): Promise<Principal> {
  const { status, body } = await deployment.administrator.post('/api/admin/groups', { name });
  assert.equal(status, 201, JSON.stringify(body));
  const id = Number(body?.['id']);
  for (const member of members) {
    const path = `/api/admin/groups/${id}/members/${deployment.person(member).id}`;
    assert.ok((await deployment.administrator.send('PUT', path)).status < 300, path);
  }
  return { type: 'group', id };
}
