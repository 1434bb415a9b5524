import { statusForm } from '../acl-sync/domain/status-form.js';
import { toSummaryResponse } from '../acl-sync/publication.response.js';
import { StatusService } from '../acl-sync/status.service.js';
import type { Shown } from './acl-status.js';
import { withPublishing } from './run-report.js';

/** The answers of `GET /api/admin/acl/status` and of the first page of `GET /api/admin/acl/publications`. */
export function statusFromDatabase(versions: number): Promise<Shown> {
  return withPublishing('acl status', async (modules) => {
    const statuses = modules.get(StatusService);
    const { items } = await statuses.publications({ limit: versions, after: null });
    return { status: statusForm(await statuses.status()), versions: items.map(toSummaryResponse) };
  });
}
