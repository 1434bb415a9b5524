/** So many at a time: each may hold two mebibytes. */
const BATCH = 500;

/**
 * Versions that nothing needs any more. $1: the time from which on versions are kept; $2: how many of the newest are.
 * @param baseline a statement that gives the version from which changes are measured
 */
export function pastVersions(baseline: string): string {
  return `SELECT p.version FROM acl_publications p
    WHERE p.version < least(
            (SELECT coalesce(max(version), 0) FROM acl_publications WHERE state = 'published' AND published_at <= $1),
            coalesce((SELECT version FROM acl_publications WHERE state = 'published'
                       ORDER BY version DESC OFFSET $2::integer - 1 LIMIT 1), 0))
      AND p.broken_at IS NULL AND (p.is_reported OR p.state <> 'published')
      AND p.version NOT IN (SELECT coalesce((${baseline}), 0)
        UNION ALL SELECT coalesce(max(version), 0) FROM acl_publications WHERE live_at IS NOT NULL
        UNION ALL SELECT coalesce(max(version), 0) FROM acl_publications
                   WHERE live_at IS NOT NULL AND NOT is_withdrawal AND restored_version IS NULL AND broken_at IS NULL)
      AND NOT EXISTS (SELECT FROM acl_publications r WHERE r.restored_version = p.version)
    ORDER BY p.version LIMIT ${BATCH}`;
}

/** The status needs the last run that went well, and all since. */
export const REMOVE_PAST_RUNS = `DELETE FROM acl_runs WHERE at < $1
  AND id < (SELECT max(id) FROM acl_runs WHERE outcome IN ('applied', 'no_change') AND NOT is_restore)`;
