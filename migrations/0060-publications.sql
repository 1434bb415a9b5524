create table acl_publications (
  version integer generated always as identity constraint acl_publications_pkey primary key,
  state text not null constraint acl_publications_state_known check (state in ('begun', 'published', 'abandoned')),
  text text not null,
  hash text not null,
  rules integer not null,
  bytes integer not null,
  diff jsonb not null,
  checks jsonb not null,
  trigger text not null,
  triggered_by integer constraint acl_publications_trigger_exists references users (id),
  snapshot text not null,
  snapshot_hash text not null,
  begun_at timestamptz not null,
  published_at timestamptz,
  live_at timestamptz,
  constraint acl_publications_published_at_a_time check ((state = 'published') = (published_at is not null))
);

comment on table acl_publications is 'Every version of the rules, with what it followed from. Written before the target is, so that no version is live without a row: a run that dies in between leaves it begun, and the next one sees by the live text how it went.';
comment on column acl_publications.snapshot is 'The form of a snapshot file, as JSON: what later changes are measured against.';
comment on column acl_publications.live_at is 'When the engine was first seen to use it.';

create index acl_publications_begun on acl_publications (version) where state = 'begun';
create index acl_publications_published on acl_publications (version) where state = 'published';

create table acl_runs (
  id bigint generated always as identity constraint acl_runs_pkey primary key,
  at timestamptz not null,
  trigger text not null,
  outcome text not null constraint acl_runs_outcome_known check (outcome in ('applied', 'no_change', 'refused', 'failed')),
  reasons jsonb not null,
  drift jsonb
);

comment on table acl_runs is 'How each run of the sync ended, and what it found. Runs without a change are forgotten after a week.';
comment on column acl_runs.drift is 'An edit of the live text that the run found: when it was first found, and the SHA-256 of the text (null: it was gone).';

create index acl_runs_of_note on acl_runs (outcome, id);
create index acl_runs_by_time on acl_runs (at) where outcome = 'no_change';
