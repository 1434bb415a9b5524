import { statusForm } from '../acl-sync/domain/status-form.js';
import { PublicationsService } from '../acl-sync/publications.service.js';
import { withPublishing } from './run-report.js';
import type { ShownStatus } from './status-output.js';

/** The state of publishing, and the newest versions. */
export function statusFromDatabase(limit: number): Promise<ShownStatus> {
  return withPublishing('acl status', async (modules) => {
    const publications = modules.get(PublicationsService);
    const { items } = await publications.list({ limit, after: null });
    const versions = items.map(({ publishedAt, isWithdrawal, ...shown }) => ({
      ...shown,
      published_at: publishedAt.toISOString(),
      is_withdrawal: isWithdrawal,
    }));
    return { status: statusForm(await publications.status()), versions };
  });
}
