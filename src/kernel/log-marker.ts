/**
 * Every message of a log line above `debug`. Operators search and alert on them; docs/operations-reference.md has the meaning and the
 * cure of each.
 */
export const LOG_MARKERS = [
  // process
  'listening on',
  'making the embedded database (once, a few seconds)',
  'the embedded database is gone, starting it again',
  'the embedded database is back',
  'migrated',
  'the migration waits',
  'stopping',
  'the stop was not clean',
  'log lines dropped',
  'message of the framework',
  "this machine's clock differs from the database's",
  // requests and accounts
  'request',
  'request failed',
  'removed expired sessions and throttle counters',
  'removed past audit events',
  // people of the identity provider
  'session could not be checked at the provider',
  'SCIM changes',
  // service-account token
  'service-account token is empty',
  'service-account token has no usable expires_in',
  'service-account token is not signed with RS256',
  'service-account token has another issuer',
  'service-account token is of another client',
  'service-account token lacks the audience',
  'service-account client has web origins, which it does not need',
  // engine and queries
  'ENGINE_IDENTITY_MISMATCH',
  'engine identity check failed',
  'background work has stopped',
  'the engine does not admit this service',
  'the engine did not accept a statement',
  'the engine did not continue a query',
  'the engine sent a type that is not known here',
  'query execution tick failed',
  'adopted a query whose replica died',
  'a query will be resumed after a failure',
  "a query's end could not be stored; it will be tried again",
  'abandoned query could not be cancelled',
  // changes of grants, proved before they commit
  'admission proof skipped: over its limits',
  'admission proof skipped: no process for it',
  'admission proof failed: rules could not be compiled',
  // publishing
  'TRINO_ACL_SYNC_APPLIED',
  'TRINO_ACL_SYNC_NO_CHANGE',
  'TRINO_ACL_SYNC_REFUSED',
  'TRINO_ACL_SYNC_FAILED',
  'TRINO_ACL_SYNC_DRIFT',
  'TRINO_ACL_UNEXPLAINED_CHANGE',
  'TRINO_ACL_DATABASE_BEHIND',
  'TRINO_ACL_RULES_LIVE',
  'TRINO_ACL_RULES_BROKEN',
  'TRINO_ACL_RULES_OVERDUE',
  'TRINO_ACL_CATALOG_OPEN',
  'TRINO_ACL_RESTORED',
  'TRINO_ACL_RESTORE_ENDED',
  'TRINO_ACL_TARGET_DENIED',
  'rules target check failed',
  'rules could not be prepared',
  'withdrawal could not be compiled',
  'former rules are kept compressed',
  'live version check failed',
  'publication gauges could not be refreshed',
  'next expiry could not be read',
  'removed past publications',
] as const;

export type LogMarker = (typeof LOG_MARKERS)[number] | `listening on ${string}`;
