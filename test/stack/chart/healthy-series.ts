/** Samples of one series, 30 s apart, in the notation of promtool. */
export type Samples = string;
/** By name and labels beside those of the target, as `grantline_ready{pod="a"}`. */
export type Series = Record<string, Samples>;

/** When the series begin. */
export const START = '2026-11-25T00:00:00Z';
export const START_SECONDS = Date.parse(START) / 1000;
export const INTERVAL_SECONDS = 30;
/** A part fails after this sample, so that the next one is the first that shows it. */
export const LAST_HEALTHY = 20;
/** Samples of a scenario. */
export const SAMPLES = 90;

const AFTERWARDS = SAMPLES - LAST_HEALTHY - 2;

/** One value until the part fails, and another from then on. */
export function turns(before: number, after: number): Samples {
  return `${before}x${LAST_HEALTHY} ${after}x${AFTERWARDS}`;
}

export function always(value: number): Samples {
  return `${value}x${SAMPLES - 1}`;
}

/** A counter that rises by so much with each sample, and by another figure once the part has failed. */
export function rises(before: number, after = before): Samples {
  const sign = (by: number): string => (by < 0 ? String(by) : `+${by}`);
  return `0${sign(before)}x${LAST_HEALTHY} ${before * LAST_HEALTHY + after}${sign(after)}x${AFTERWARDS}`;
}

/** A moment that is always so many seconds ago. */
export function ago(seconds: number): Samples {
  return `${START_SECONDS - seconds}+${INTERVAL_SECONDS}x${SAMPLES - 1}`;
}

/** The same until the part fails; then the moment does not move any more. @param unit of the metric, for each second */
export function agoUntilFailure(seconds: number, unit = 1): Samples {
  const [first, interval] = [(START_SECONDS - seconds) * unit, INTERVAL_SECONDS * unit];
  return `${first}+${interval}x${LAST_HEALTHY} ${first + interval * LAST_HEALTHY}x${AFTERWARDS}`;
}

/** A moment that stays what it is. */
export function at(secondsAfterStart: number): Samples {
  return always(START_SECONDS + secondsAfterStart);
}

/** 0 while all is well, then the moment at which a run of the schedule first saw the failure. */
export function sinceFailure(secondsAfterFailure: number): Samples {
  const first = START_SECONDS + LAST_HEALTHY * INTERVAL_SECONDS + secondsAfterFailure;
  const unseen = secondsAfterFailure / INTERVAL_SECONDS;
  return `0x${LAST_HEALTHY + unseen} ${first}x${AFTERWARDS - unseen}`;
}

const PARTS = [
  'database',
  'migrations',
  'password hashing',
  'engine',
  'identity_provider',
  'sign_in_provider',
  'rules',
  'target',
];

const ofEach = (pod: string): Series => ({
  [`up{pod="${pod}"}`]: always(1),
  [`grantline_ready{pod="${pod}"}`]: always(1),
  ...Object.fromEntries(PARTS.map((part) => [`grantline_degraded{pod="${pod}", part="${part}"}`, always(0)])),
  [`process_start_time_seconds{pod="${pod}"}`]: at(-86_400),
  [`grantline_engine_identity_confirmed{pod="${pod}"}`]: always(1),
  [`grantline_engine_identity_mismatch{pod="${pod}"}`]: always(0),
  [`grantline_acl_rules_broken{pod="${pod}"}`]: always(0),
  [`grantline_acl_live_overdue{pod="${pod}"}`]: always(0),
  [`grantline_acl_live{pod="${pod}"}`]: always(1),
  [`grantline_opa_instances{pod="${pod}", state="live"}`]: always(1),
  [`grantline_opa_instances{pod="${pod}", state="behind"}`]: always(0),
  [`grantline_opa_instances{pod="${pod}", state="error"}`]: always(0),
  [`grantline_opa_canary{pod="${pod}"}`]: always(1),
  [`grantline_clock_offset_seconds{pod="${pod}"}`]: always(-4),
  [`grantline_stale_administrator_tokens{pod="${pod}"}`]: always(0),
});

const buckets = (name: string, rising: Record<string, Samples>): Series =>
  Object.fromEntries(Object.entries(rising).map(([le, samples]) => [`${name}{le="${le}"}`, samples]));

/** What two replicas and kube-state-metrics show on a usual day. */
export const HEALTHY: Series = {
  ...ofEach('a'),
  ...ofEach('b'),
  grantline_acl_last_success_timestamp_seconds: ago(200),
  grantline_acl_last_publication_timestamp_seconds: at(-80_000),
  grantline_acl_refused_since_timestamp_seconds: always(0),
  grantline_acl_failed_since_timestamp_seconds: always(0),
  grantline_acl_database_behind_since_timestamp_seconds: always(0),
  grantline_acl_drift_since_timestamp_seconds: always(0),
  grantline_acl_last_edit_timestamp_seconds: at(-7_200),
  grantline_acl_last_unexplained_change_timestamp_seconds: at(-7_200),
  grantline_acl_restored_until_timestamp_seconds: always(0),
  'grantline_acl_bytes{target="configmap:engine/trino-access-control"}': always(600_000),
  'grantline_acl_bytes{target="opa"}': always(800_000),
  'grantline_service_token_failures_total{reason="unavailable"}': always(0),
  grantline_password_hash_turned_away_total: always(0),
  grantline_break_glass_sign_ins_total: always(0),
  'grantline_oidc_rechecks_total{outcome="renewed"}': rises(1),
  'grantline_http_request_duration_seconds_count{route="/api/auth/me", status="200"}': rises(30),
  ...buckets('grantline_http_request_duration_seconds_bucket', { '0.1': rises(30), '5': rises(30), '+Inf': rises(30) }),
  ...buckets('grantline_acl_grant_to_live_seconds_bucket', { '450': rises(1), '900': rises(1), '+Inf': rises(1) }),
  'kube_cronjob_created{cronjob="grantline-retired-route"}': at(-1_000_000),
  'kube_cronjob_status_last_successful_time{cronjob="grantline-retired-route"}': at(-1_800),
};

/** The same samples on each of two replicas. */
export const onEach = (name: string, labels: string, samples: string): Series => ({
  [`${name}{pod="a"${labels}}`]: samples,
  [`${name}{pod="b"${labels}}`]: samples,
});
