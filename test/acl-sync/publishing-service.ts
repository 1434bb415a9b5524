import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AuditService } from '../../src/audit/audit.service.js';
import type { AuditEventName } from '../../src/audit/domain/audit-event.js';
import type { ApiClient } from '../support/service/api-client.js';
import { administrator, people } from '../support/service/administrator.js';
import { startService, type TestService } from '../support/service/service.js';

export const ACL = '/api/admin/acl';

/** For each test a service that publishes to a folder, with an administrator, alice and bob. */
export class PublishingService {
  directory = '';
  service!: TestService;
  admin!: ApiClient;
  ids!: Record<'alice' | 'bob', number>;

  constructor() {
    beforeEach(async () => {
      this.directory = await mkdtemp(join(tmpdir(), 'acl-sync-'));
      this.service = await startService({
        ACL_FILE_DIRECTORY: this.directory,
        ACL_WRITABLE_CATALOGS: 'lake',
        SERVICE_QUERY_USER: 'service-account-grantline',
      });
      this.admin = await administrator(this.service);
      this.ids = await people(this.service, 'alice', 'bob');
    });
    afterEach(async () => {
      await this.service.stop();
      await rm(this.directory, { recursive: true });
    });
  }

  readonly live = (file = 'rules.json') => readFile(join(this.directory, file), 'utf8');
  readonly grant = (name: 'alice' | 'bob', table: string) =>
    this.admin.post('/api/admin/grants', {
      principal: { type: 'user', id: this.ids[name] },
      resource: { catalog: 'sales', schema: 'eu', table },
      privileges: ['SELECT'],
    });
  readonly sync = async () => (await this.admin.post(`${ACL}/sync`)).body;
  readonly status = async () => (await this.admin.get(`${ACL}/status`)).body;
  readonly audited = async (event: AuditEventName) => {
    const events = { event };
    return (await this.service.app.get(AuditService).page(events, { limit: 200, after: null })).items;
  };
}
