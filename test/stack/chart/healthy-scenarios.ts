import type { Scenario } from './alert-scenarios.js';
import { ago, always, at, onEach, SAMPLES, turns } from './healthy-series.js';

/** Some requests fail on any day, a token is late, and the provider leaves some questions unanswered. */
export const USUAL_DAY: Scenario = {
  fault: 'none: a usual day',
  series: {
    'grantline_http_request_duration_seconds_count{route="/api/queries", status="503"}': turns(0, 4),
    'grantline_service_token_failures_total{reason="unavailable"}': turns(0, 2),
    'grantline_oidc_rechecks_total{outcome="silent"}': turns(0, 9),
  },
  fires: {},
};

const FIRST_RUN = 10;
/** From the moment at which Helm has made the objects: pods start, a first run publishes, the engine reads the rules. */
export const FRESH_INSTALL: Scenario = {
  fault: 'none: a fresh install',
  series: Object.fromEntries(
    Object.entries({
      ...onEach('up', '', always(1)),
      ...onEach('grantline_ready', '', always(1)),
      ...onEach('process_start_time_seconds', '', at(60)),
      ...onEach('grantline_degraded', ', part="identity_provider"', `1 0x${SAMPLES - 5}`),
      ...onEach('grantline_degraded', ', part="engine"', `1 1 0x${SAMPLES - 6}`),
      ...onEach('grantline_engine_identity_confirmed', '', `0 0 1x${SAMPLES - 6}`),
      ...onEach('grantline_acl_live_overdue', '', `NaN NaN NaN 0x${SAMPLES - 8}`),
      ...onEach('grantline_acl_rules_broken', '', `NaN NaN NaN 0x${SAMPLES - 8}`),
      ...onEach('grantline_acl_live', '', `NaN 0x${FIRST_RUN + 4} 1x60`),
      grantline_acl_last_success_timestamp_seconds: `NaN 0x${FIRST_RUN} ${ago(-300)}`,
      grantline_acl_last_publication_timestamp_seconds: `NaN 0x${FIRST_RUN} ${at(400)}`,
      'grantline_acl_bytes{target="configmap:engine/trino-access-control"}': `NaN 0x${FIRST_RUN} 40000x60`,
      grantline_acl_last_edit_timestamp_seconds: `NaN ${always(0)}`,
      grantline_acl_last_unexplained_change_timestamp_seconds: `NaN ${always(0)}`,
      'kube_cronjob_created{cronjob="grantline-retired-route"}': at(0),
      'kube_cronjob_status_last_successful_time{cronjob="grantline-retired-route"}': `_x60 ${at(1_800)}`,
      'kube_job_failed{job_name="grantline-migration", condition="false"}': always(0),
    }).map(([name, samples]) => [name, name.startsWith('kube_') ? samples : `_x3 ${samples}`]),
  ),
  fires: {},
};
