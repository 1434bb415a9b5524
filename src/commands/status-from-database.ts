import { statusForm } from '../acl-sync/domain/run-text.js';
import { PublicationHistory } from '../acl-sync/domain/publication-history.js';
import { PublicationsService } from '../acl-sync/publications.service.js';
import { withPublishing } from './run-report.js';
import type { ShownStatus } from './status-output.js';

/** The state of publishing, and the newest versions. */
export function statusFromDatabase(limit: number): Promise<ShownStatus> {
  return withPublishing('acl status', async (modules) => {
    const { items } = await modules.get(PublicationHistory).list({ limit, after: null });
    const versions = items.map(({ publishedAt, isWithdrawal, ...shown }) => ({
      ...shown,
      published_at: publishedAt.toISOString(),
      is_withdrawal: isWithdrawal,
    }));
    return { status: statusForm(await modules.get(PublicationsService).status()), versions };
  });
}
