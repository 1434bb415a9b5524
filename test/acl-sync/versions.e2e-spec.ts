import { ACL, PublishingService } from './publishing-service.js';

describe('published versions through the API', () => {
  const publishing = new PublishingService();
  const { live, grant, sync, status, audited } = publishing;

  it('keeps every version with its text and what it changed', async () => {
    await grant('alice', 'orders');
    await sync();
    const first = await live();
    const given = await grant('bob', 'items');
    await sync();
    await publishing.admin.delete(given.headers.get('location') ?? '');
    await sync();

    expect(await live()).toBe(first);
    const { body } = await publishing.admin.get(`${ACL}/publications?limit=2`);
    expect(body?.['items']).toMatchObject([{ version: 3 }, { version: 2, people_losing: 0 }]);
    expect(body?.['items']).not.toHaveProperty('0.text');
    expect((await publishing.admin.get(`${ACL}/publications?after=${String(body?.['next'])}`)).body).toMatchObject({
      items: [{ version: 1, gained_in_all: null, people_gaining: null, people_losing: null, changed_pairs: null }],
      next: null,
    });
    const second = (await publishing.admin.get(`${ACL}/publications/2`)).body;
    expect(second).toMatchObject({ version: 2, text: await live('rules.json.bak'), triggered_by: { name: 'admin' } });
    expect(second?.['diff']).toMatchObject({
      added: expect.arrayContaining([
        'tables {"user":"bob","catalog":"sales","schema":"eu","table":"items","privileges":["SELECT"],"filter":"true"}',
      ]) as unknown,
    });
    for (const version of ['4', '0', 'x'])
      expect((await publishing.admin.get(`${ACL}/publications/${version}`)).status).toBe(404);
  });

  it('answers the status once for each state of it', async () => {
    await sync();
    const { admin } = publishing;
    const first = await admin.get(`${ACL}/status`);
    const tag = first.headers.get('etag') ?? '';
    const again = await admin.send('GET', `${ACL}/status`, undefined, { 'If-None-Match': tag });
    expect([again.status, again.body, again.headers.get('etag')]).toEqual([304, null, tag]);
    // Each open page of the console asks every five seconds.
    expect(publishing.service.logLines.filter((line) => line.includes('"/api/admin/acl/status"'))).toEqual([]);

    await grant('alice', 'orders');
    await sync();
    const changed = await admin.send('GET', `${ACL}/status`, undefined, { 'If-None-Match': tag });
    expect(changed).toMatchObject({ status: 200, body: { published: { version: 2 } } });
    expect(changed.headers.get('etag')).not.toBe(tag);
  });

  describe('with three versions', () => {
    let alice: number;
    beforeEach(async () => {
      alice = Number((await grant('alice', 'orders')).body?.['id']);
      await sync();
      await grant('bob', 'invoices');
      await sync();
    });

    const restore = (version: number, body: object = { reason: 'too wide', hours: 2 }) =>
      publishing.admin.post(`${ACL}/publications/${version}/restore`, body);

    it('compares any two of them', async () => {
      const forwards = (await publishing.admin.get(`${ACL}/publications/2?against=1`)).body;
      const backwards = (await publishing.admin.get(`${ACL}/publications/1?against=2`)).body;
      const invoices = '{"what":"SELECT from sales.eu.invoices","people":["bob"],"others":0}';

      expect(forwards).toMatchObject({ version: 2, access: { lost: [] } });
      expect(JSON.stringify(forwards?.['access'])).toContain(invoices);
      expect(backwards).toMatchObject({ version: 1, access: { gained: [] } });
      expect(JSON.stringify(backwards?.['access'])).toContain(invoices);
      expect(JSON.stringify(backwards?.['diff'])).toMatch(/"added":\[.*"removed":\[.*bob/);
      expect(await publishing.admin.get(`${ACL}/publications/1?against=99`)).toMatchObject({ status: 404 });
      for (const against of ['x', '0', '2147483648', '1&against=2'])
        expect(await publishing.admin.get(`${ACL}/publications/1?against=${against}`)).toMatchObject({
          status: 400,
          body: { errors: [{ field: 'against', message: 'must be a version' }] },
        });
    });

    it('restores an older one with a reason, for at most 24 hours, and ends that by hand', async () => {
      expect(await restore(1, {})).toMatchObject({ status: 400 });
      expect(await restore(1, { reason: ' ' })).toMatchObject({ status: 400 });
      expect(await restore(1, { reason: 'x', hours: 25 })).toMatchObject({ status: 400 });
      expect(await restore(1, { reason: 'x', hours: 0.5 })).toMatchObject({ status: 400 });
      expect(await restore(99)).toMatchObject({ status: 404 });
      expect(await status()).toMatchObject({ published: { version: 2 } });

      const answer = await restore(1);
      expect(answer).toMatchObject({ status: 200, body: { outcome: 'applied', reasons: [{ code: 'restored' }] } });
      expect(answer.body?.['publication']).toMatchObject({
        version: 3,
        trigger: 'restore',
        restored: { version: 1, until: '2026-11-20T14:00:00.000Z', reason: 'too wide', ended: null },
      });
      expect(await live()).not.toContain('bob');
      expect(await status()).toMatchObject({ restored_until: '2026-11-20T14:00:00.000Z' });
      expect(await sync()).toMatchObject({ outcome: 'no_change', reasons: [{ code: 'restored' }] });
      const preview = (await publishing.admin.post(`${ACL}/preview`)).body;
      expect(preview).toMatchObject({ would: 'no_change' });
      expect(JSON.stringify(preview?.['checks'])).toContain('"restored"');

      expect(await publishing.admin.delete(`${ACL}/restore`)).toMatchObject({ status: 204 });
      expect(await live()).toContain('bob');
      expect(await status()).toMatchObject({ restored_until: null });
      expect(await publishing.admin.delete(`${ACL}/restore`)).toMatchObject({ status: 204 });
      expect(await audited('publication_restored')).toMatchObject([
        { actor: { username: 'admin' }, subject: { id: '1' } },
      ]);
      expect(await audited('restore_ended')).toMatchObject([
        { actor: { username: 'admin' }, details: { how: 'hand' } },
      ]);
    });

    it('restores none that gives what was revoked', async () => {
      await publishing.admin.delete(`/api/admin/grants/${alice}`);
      await sync();
      expect(await restore(1)).toMatchObject({
        status: 200,
        body: { outcome: 'refused', publication: null, reasons: [{ code: 'restore-contradicted' }] },
      });
      expect(await live()).not.toContain('alice');
    });

    it('ends a restore with the first run after a revoke', async () => {
      await restore(1);
      await publishing.admin.delete(`/api/admin/grants/${alice}`);
      expect(await sync()).toMatchObject({ outcome: 'applied', publication: { restored: null } });
      expect(await live()).not.toContain('alice');
    });
  });
});
