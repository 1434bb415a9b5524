import {
  ago,
  agoUntilFailure,
  always,
  at,
  INTERVAL_SECONDS,
  LAST_HEALTHY,
  onEach,
  rises,
  type Series,
  sinceFailure,
  turns,
} from './healthy-series.js';

export interface Scenario {
  /** What fails, as docs/operations.md names it. */
  fault: string;
  /** What differs from a usual day. */
  series: Series;
  /** All alerts that fire, with the most seconds until they do. */
  fires: Record<string, number>;
}

const degraded = (part: string): Series => onEach('grantline_degraded', `, part="${part}"`, turns(0, 1));
const GONE = `1x${LAST_HEALTHY} stale`;
const UNSUCCESSFUL = { grantline_acl_last_success_timestamp_seconds: agoUntilFailure(200) };
/** That many of 30 requests between two scrapes. */
const failing = (requests: number): Series => ({
  'grantline_http_request_duration_seconds_count{route="/api/auth/me", status="200"}': rises(30, 30 - requests),
  'grantline_http_request_duration_seconds_count{route="/api/auth/login", status="503"}': rises(0, requests),
});
const NO_TOKEN: Series = {
  'grantline_service_token_failures_total{reason="unavailable"}': rises(0, 2),
  'grantline_service_token_failures_total{reason="refused"}': always(0),
};

/** Each part that can fail. */
export const FAULTS: Scenario[] = [
  {
    fault: 'PostgreSQL is gone, or its certificate has expired',
    series: {
      ...onEach('grantline_ready', '', turns(1, 0)),
      ...degraded('database'),
      ...degraded('migrations'),
      ...failing(30),
      ...UNSUCCESSFUL,
    },
    fires: { GrantlineNotReady: 150, GrantlineErrors: 150, GrantlineSyncStale: 780 },
  },
  {
    fault: "PostgreSQL's disk is full",
    series: { ...failing(10), ...UNSUCCESSFUL },
    fires: { GrantlineErrors: 180, GrantlineSyncStale: 780 },
  },
  {
    fault: 'one replica is gone',
    series: { 'up{pod="b"}': turns(1, 0), 'grantline_ready{pod="b"}': GONE },
    fires: { GrantlineReplicaNotReady: 630 },
  },
  {
    fault: 'one replica is not ready',
    series: { 'grantline_ready{pod="b"}': turns(1, 0) },
    fires: { GrantlineReplicaNotReady: 630 },
  },
  {
    fault: 'all replicas are gone',
    series: { ...onEach('up', '', turns(1, 0)), ...onEach('grantline_ready', '', GONE) },
    fires: { GrantlineDown: 330 },
  },
  {
    fault: 'the identity provider is gone, or its certificate has expired',
    series: {
      ...NO_TOKEN,
      ...degraded('identity_provider'),
      ...degraded('engine'),
      ...onEach('grantline_engine_identity_confirmed', '', turns(1, 0)),
    },
    fires: { GrantlineServiceTokenFailing: 60, GrantlineDegraded: 330, GrantlineEngineIdentity: 330 },
  },
  {
    fault: 'the provider at which people sign in is gone',
    series: degraded('sign_in_provider'),
    fires: { GrantlineDegraded: 330 },
  },
  {
    fault: 'the engine is gone',
    series: {
      ...degraded('engine'),
      ...onEach('grantline_engine_identity_confirmed', '', turns(1, 0)),
      ...failing(5),
    },
    fires: { GrantlineErrors: 210, GrantlineEngineIdentity: 330 },
  },
  {
    fault: 'one replica has lost the engine',
    series: {
      'grantline_degraded{pod="b", part="engine"}': turns(0, 1),
      'grantline_engine_identity_confirmed{pod="b"}': turns(1, 0),
    },
    fires: { GrantlineReplicaWithoutEngine: 630 },
  },
  {
    fault: 'the Kubernetes API server is gone, or its certificate has expired',
    series: {
      ...degraded('target'),
      grantline_acl_failed_since_timestamp_seconds: sinceFailure(300),
      ...UNSUCCESSFUL,
    },
    fires: { GrantlineDegraded: 330, GrantlineSyncFailing: 690, GrantlineSyncStale: 780 },
  },
  {
    fault: 'the disk under the rules file is full',
    series: { grantline_acl_failed_since_timestamp_seconds: sinceFailure(300), ...UNSUCCESSFUL },
    fires: { GrantlineSyncFailing: 690, GrantlineSyncStale: 780 },
  },
  {
    fault: 'the migration fails',
    series: { 'kube_job_failed{job_name="grantline-migration", condition="true"}': `_x${LAST_HEALTHY + 1} 1x60` },
    fires: { GrantlineMigrationFailed: 30 },
  },
  {
    fault: 'the CronJob of the sync does not run',
    series: UNSUCCESSFUL,
    fires: { GrantlineSyncStale: 780 },
  },
  {
    fault: 'the check of the retired route fails',
    series: {
      'kube_job_failed{job_name="grantline-retired-route-29401223", condition="true"}': `_x${LAST_HEALTHY + 1} 1x60`,
      'kube_job_status_start_time{job_name="grantline-retired-route-29401223"}': at(LAST_HEALTHY * INTERVAL_SECONDS),
    },
    fires: { GrantlineRetiredRoute: 30 },
  },
  {
    fault: 'kube-state-metrics is gone',
    series: {
      'kube_cronjob_created{cronjob="grantline-retired-route"}': GONE,
      'kube_cronjob_status_last_successful_time{cronjob="grantline-retired-route"}': GONE,
    },
    fires: { GrantlineRetiredRouteUnchecked: 930 },
  },
];

/** What else an alert finds. */
export const CONDITIONS: Scenario[] = [
  {
    fault: 'a check refuses the rules',
    series: { grantline_acl_refused_since_timestamp_seconds: sinceFailure(0) },
    fires: { GrantlineSyncRefused: 630 },
  },
  {
    fault: 'a guarantee is broken',
    series: { 'grantline_guarantee_broken_since_timestamp_seconds{name="only payroll writes"}': sinceFailure(0) },
    fires: { GrantlineGuaranteeBroken: 30 },
  },
  {
    fault: 'a published version does not reach the engine',
    series: {
      ...onEach('grantline_acl_live', '', turns(1, 0)),
      grantline_acl_last_publication_timestamp_seconds: at(LAST_HEALTHY * INTERVAL_SECONDS),
    },
    fires: { GrantlineRulesNotLive: 930 },
  },
  {
    fault: 'the engine uses other rules than before',
    series: { 'grantline_acl_live_overdue{pod="a"}': turns(0, 1) },
    fires: { GrantlineRulesNotLive: 330 },
  },
  {
    fault: 'the engine reads none of the versions that follow each other',
    series: {
      ...onEach('grantline_acl_live', '', turns(1, 0)),
      ...onEach('grantline_acl_live_overdue', '', turns(0, 1)),
      grantline_acl_last_publication_timestamp_seconds: ago(60),
    },
    fires: { GrantlineRulesNotLive: 330 },
  },
  {
    fault: 'the engine cannot use its rules file',
    series: { 'grantline_acl_rules_broken{pod="a"}': turns(0, 1) },
    fires: { GrantlineRulesBroken: 90 },
  },
  {
    fault: 'an OPA does not get the published version',
    series: onEach('grantline_opa_instances', ', state="behind"', turns(0, 1)),
    fires: { GrantlineOpaBehind: 150 },
  },
  {
    fault: 'an OPA refuses the bundle, or had no answer for too long',
    series: onEach('grantline_opa_instances', ', state="error"', turns(0, 1)),
    fires: { GrantlineOpaBundleError: 90 },
  },
  {
    fault: 'Grantline is away, and OPA says so itself',
    series: { 'last_success_bundle_request{name="grantline"}': agoUntilFailure(20, 1e9) },
    fires: { GrantlineOpaStale: 360 },
  },
  {
    fault: 'one replica sees the engine answer the canary without masks',
    series: { 'grantline_opa_canary{pod="a"}': turns(1, 0) },
    fires: { GrantlineOpaCanary: 150 },
  },
  {
    fault: 'grants take long',
    series: {
      'grantline_acl_grant_to_live_seconds_bucket{le="450"}': rises(1, 0),
    },
    fires: { GrantlineGrantsSlow: 960 },
  },
  {
    fault: 'the engine takes people for the service account',
    series: { 'grantline_engine_identity_mismatch{pod="a"}': turns(0, 1) },
    fires: { GrantlineEngineIdentityMismatch: 150 },
  },
  {
    fault: 'the rules are large',
    series: { 'grantline_acl_bytes{target="configmap:engine/trino-access-control"}': turns(600_000, 640_000) },
    fires: { GrantlineRulesLarge: 330 },
  },
  {
    fault: 'the rules were edited by hand',
    series: { grantline_acl_last_edit_timestamp_seconds: `0x${LAST_HEALTHY} ${at(600)}` },
    fires: { GrantlineRulesEdited: 30 },
  },
  {
    fault: 'an edit by hand stays',
    series: { grantline_acl_drift_since_timestamp_seconds: sinceFailure(0) },
    fires: { GrantlineRulesEdited: 30 },
  },
  {
    fault: 'the database was restored from a backup',
    series: { grantline_acl_database_behind_since_timestamp_seconds: sinceFailure(0) },
    fires: { GrantlineDatabaseBehind: 30 },
  },
  {
    fault: 'an older version is restored',
    series: { grantline_acl_restored_until_timestamp_seconds: `0x${LAST_HEALTHY} ${at(7_200)}` },
    fires: { GrantlineRestored: 30 },
  },
  {
    fault: 'access changed without a reason',
    series: { grantline_acl_last_unexplained_change_timestamp_seconds: `0x${LAST_HEALTHY} ${at(600)}` },
    fires: { GrantlineUnexplainedChange: 30 },
  },
  {
    fault: 'too many passwords wait',
    series: { grantline_password_hash_turned_away_total: rises(0, 9) },
    fires: { GrantlinePasswordsTurnedAway: 30 },
  },
  {
    fault: 'the identity provider pushes with a token that ended',
    series: {
      'grantline_http_request_duration_seconds_count{route="/api/scim/v2/Users", status="401"}': rises(0, 1),
      'grantline_http_request_duration_seconds_count{route="/api/scim/v2/Users", status="404"}': rises(1),
    },
    fires: { GrantlineScimRefused: 330 },
  },
  {
    fault: 'the provider refuses our client, whose secret has expired',
    series: {
      'grantline_oidc_rechecks_total{outcome="renewed"}': rises(1, 0),
      'grantline_oidc_rechecks_total{outcome="silent"}': rises(0, 1),
    },
    fires: { GrantlineRechecksFailing: 1170 },
  },
  {
    fault: "an administrator's API token lies about",
    series: { 'grantline_stale_administrator_tokens{pod="b"}': turns(0, 2) },
    fires: { GrantlineStaleToken: 30 },
  },
  {
    fault: 'an administrator signs in past the identity provider',
    series: { grantline_break_glass_sign_ins_total: turns(0, 1) },
    fires: { GrantlineBreakGlass: 30 },
  },
  {
    fault: 'a clock is wrong',
    series: { 'grantline_clock_offset_seconds{pod="b"}': turns(-4, -9) },
    fires: { GrantlineClockOffset: 630 },
  },
  {
    fault: 'answers take long',
    series: { 'grantline_http_request_duration_seconds_bucket{le="0.1"}': rises(30, 0) },
    fires: { GrantlineSlow: 630 },
  },
  {
    fault: 'the retired route was not checked for a day',
    series: { 'kube_cronjob_status_last_successful_time{cronjob="grantline-retired-route"}': at(-90_000) },
    fires: { GrantlineRetiredRouteUnchecked: 300 },
  },
];
