create table acl_publications (
  version integer generated always as identity constraint acl_publications_pkey primary key,
  state text not null constraint acl_publications_state_known check (state in ('begun', 'published', 'abandoned')),
  text text not null,
  hash text not null,
  rules integer not null,
  bytes integer not null,
  diff jsonb not null,
  access jsonb,
  checks jsonb not null,
  trigger text not null,
  triggered_by integer constraint acl_publications_trigger_exists references users (id),
  snapshot text not null,
  snapshot_hash text not null,
  snapshot_at timestamptz not null,
  trail_position text not null,
  compiler text not null,
  is_withdrawal boolean not null,
  is_found boolean not null default false,
  is_written boolean not null default true,
  is_reported boolean not null default true,
  edit jsonb,
  restored_version integer constraint acl_publications_restored_exists references acl_publications (version),
  restored_until timestamptz,
  restore_reason text,
  restore_ended text
    constraint acl_publications_restore_ended_known check (restore_ended in ('time', 'hand', 'contradicted', 'replaced')),
  changed_at timestamptz,
  begun_at timestamptz not null,
  published_at timestamptz,
  live_at timestamptz,
  broken_at timestamptz,
  constraint acl_publications_published_at_a_time check ((state = 'published') = (published_at is not null)),
  constraint acl_publications_restored_whole check (
    (restored_version is null) = (restored_until is null)
    and (restored_version is null) = (restore_reason is null)
    and (restored_version is not null or restore_ended is null)
  )
);

comment on table acl_publications is 'Every version of the rules, with what it followed from. Written before the target is, so that no version is live without a row: a run that dies in between leaves it begun, and the next one sees by the live text how it went.';
comment on column acl_publications.access is 'Who gained and lost what against the version before: the first of it, and counts of all. Null: nobody anything, or it was the first.';
comment on column acl_publications.snapshot is 'The form of a snapshot file, as JSON: what later changes are measured against.';
comment on column acl_publications.snapshot_at is 'When the snapshot was read: what the audit trail tells of from then on explains the next change.';
comment on column acl_publications.trail_position is 'Where the audit trail was before the snapshot was read (the newest id, and the oldest transaction that ran): what comes later explains the next change, whatever the clocks of replicas say.';
comment on column acl_publications.compiler is 'Digest of the program that made the text; another one may make another text of the same snapshot.';
comment on column acl_publications.is_withdrawal is 'Only what recorded changes took away went out, because an unexplained change waited for its approval. Later changes are still measured against the version before.';
comment on column acl_publications.is_found is 'Found at the target with a generation above every version here: the database was restored from a backup, or another installation publishes there. Its snapshot is that of the last version known before, or empty.';
comment on column acl_publications.is_written is 'False: its text was live already, so that the target was not written.';
comment on column acl_publications.is_reported is 'Whether the audit trail has it. A run reports what an earlier one died with.';
comment on column acl_publications.edit is 'The edit by hand that it overwrote, by the SHA-256 of its text (null: the text was gone).';
comment on column acl_publications.restored_version is 'The version whose text was put back here by an administrator. Later changes are still measured against the last version that was published whole.';
comment on column acl_publications.restored_until is 'When that ends by itself.';
comment on column acl_publications.restore_ended is 'How it ended; null: it lasts, or has not been found over yet.';
comment on column acl_publications.changed_at is 'When the first change in it was recorded, or took effect by itself: from there the time to the engine is counted. Null: no recorded change is in it.';
comment on column acl_publications.live_at is 'When the engine was first seen to use it.';
comment on column acl_publications.broken_at is 'When the engine was seen to fail on this text, which it had never used before: the text is not published again.';

create index acl_publications_begun on acl_publications (version) where state = 'begun';
create index acl_publications_published on acl_publications (version) where state = 'published';
create index acl_publications_broken on acl_publications (hash) where broken_at is not null;
create index acl_publications_unreported on acl_publications (version) where not is_reported;
create index acl_publications_found on acl_publications (version) where is_found;
-- Without it every removed version would be looked for in the whole table.
create index acl_publications_restored on acl_publications (restored_version) where restored_version is not null;
create index acl_publications_live on acl_publications (version) where live_at is not null;

create table acl_runs (
  id bigint generated always as identity constraint acl_runs_pkey primary key,
  at timestamptz not null,
  trigger text not null,
  triggered_by integer constraint acl_runs_trigger_exists references users (id),
  is_restore boolean not null default false,
  outcome text not null constraint acl_runs_outcome_known check (outcome in ('applied', 'no_change', 'refused', 'failed')),
  reasons jsonb not null,
  drift jsonb,
  waiting jsonb,
  after_version integer not null default 0
);

comment on table acl_runs is 'How each run of the sync ended, and what it found. Runs without a change are forgotten after a week.';
comment on column acl_runs.triggered_by is 'The account that requested it. Null: nobody did, or it ran before this was recorded.';
comment on column acl_runs.is_restore is 'It was asked to restore a version: its refusal leaves the rules that the grants mean.';
comment on column acl_runs.drift is 'An edit of the live text that the run found: when it was first found, and the SHA-256 of the text (null: it was gone).';
comment on column acl_runs.waiting is 'The hash of the text that waits for an approval, and since when something does.';
comment on column acl_runs.after_version is 'The newest published version once it had ended: its place among them, whatever the clocks of replicas say.';

create index acl_runs_of_note on acl_runs (outcome, id);
create index acl_runs_by_time on acl_runs (at) where outcome = 'no_change';
create index acl_runs_among_versions on acl_runs (after_version, id) where outcome in ('refused', 'failed');

create table acl_approvals (
  after_version integer not null constraint acl_approvals_version_exists references acl_publications (version),
  hash text not null,
  approved_by integer constraint acl_approvals_approver_exists references users (id),
  approved_at timestamptz not null,
  constraint acl_approvals_pkey primary key (after_version, hash)
);

comment on table acl_approvals is 'Texts that may follow a version although no recorded change explains everything in them.';

create table acl_retention (
  only_row boolean constraint acl_retention_pkey primary key default true constraint acl_retention_one_row check (only_row),
  least_days integer not null constraint acl_retention_a_day_at_least check (least_days >= 1),
  least_versions integer not null constraint acl_retention_a_version_at_least check (least_versions >= 1)
);

comment on table acl_retention is 'For how many days, and how many of them, published versions are kept at least. The owner''s: grantline migrate writes ACL_RETENTION_DAYS and ACL_RETENTION_VERSIONS of its own environment here, and the service''s role may only read it.';

insert into acl_retention (least_days, least_versions) values (1, 1);

-- A version goes with its approvals. What the owner's minimum protects stays, whatever is asked for.
create function remove_past_publications(versions integer[]) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  least public.acl_retention%rowtype;
  newest_to_go integer;
  removed integer;
begin
  select * into strict least from public.acl_retention;
  select version - 1 into newest_to_go from public.acl_publications
   where state = 'published' order by version desc offset least.least_versions - 1 limit 1;
  with past as (
    select p.version from public.acl_publications p
     where p.version = any (versions) and p.version <= newest_to_go
       and coalesce(p.published_at, p.begun_at) < now() - make_interval(days => least.least_days)
  ), approvals as (
    delete from public.acl_approvals a using past where a.after_version = past.version
  )
  delete from public.acl_publications p using past where p.version = past.version;
  get diagnostics removed = row_count;
  return removed;
end
$$;

revoke execute on function remove_past_publications(integer[]) from public;
