import { useQuery } from '@tanstack/react-query';
import { api, bodyOf, type Schemas } from './client.js';
import type { paths } from './schema.js';

type AuditQuery = NonNullable<paths['/api/admin/audit']['get']['parameters']['query']>;

/** A part of the audit trail, newest first. */
export function auditPage(query: Omit<AuditQuery, 'format'>): Promise<Schemas['AuditPage']> {
  // The other type of answer is of requests for a file.
  return bodyOf(api.GET('/api/admin/audit', { params: { query } })) as Promise<Schemas['AuditPage']>;
}

/** Where the same is a file, whole. */
export function auditFile(query: AuditQuery): string {
  const asked = new URLSearchParams(
    Object.entries({ ...query, format: 'csv' }).map(([name, value]) => [name, `${value}`]),
  );
  return `/api/admin/audit?${asked.toString()}`;
}

/**
 * Who acted on a policy last.
 * @param at when that was: another time is another question
 * @returns undefined: not known, or the command line
 */
export function useLastActor(id: number, at: string): string | undefined {
  const { data } = useQuery({
    queryKey: ['audit', 'last-of', 'policy', id, at],
    queryFn: () => auditPage({ subject: `policy:${id}`, limit: 1 }),
  });
  return data?.items[0]?.actor?.name;
}
