-- 0001-audit-events
create table audit_events (
  id bigint generated always as identity constraint audit_events_pkey primary key,
  at timestamptz not null,
  event text not null,
  actor_id integer,
  actor_name text,
  subject_type text,
  subject_id text,
  subject_name text,
  address text,
  request_id text,
  details jsonb not null
);

comment on table audit_events is 'What happened, append-only: who (actor) did what (event) to what (subject), from where. Never a secret. No foreign keys: it outlives what it tells of.';
comment on column audit_events.actor_id is 'The account that acted; null: nobody was signed in, or the service itself acted.';
comment on column audit_events.details is 'Facts of this kind of event, as an object.';

create index audit_events_by_time on audit_events (at);
create index audit_events_by_event on audit_events (event, id);
create index audit_events_by_actor on audit_events (actor_id, id) where actor_id is not null;
create index audit_events_by_subject on audit_events (subject_type, subject_id, id) where subject_id is not null;

create function audit_events_are_append_only() returns trigger
language plpgsql as $$
begin
  -- Only remove_past_audit_events() sets this, around its one statement.
  if tg_op = 'DELETE' and current_setting('grantline.audit_retention', true) = 'running' then
    return null;
  end if;
  raise exception 'audit_events is append-only: % is refused', lower(tg_op) using errcode = 'insufficient_privilege';
end
$$;

comment on function audit_events_are_append_only is 'Says no where one database role owns everything; with two roles, the missing privilege says no first.';

create trigger audit_events_append_only before update or delete or truncate on audit_events
  for each statement execute function audit_events_are_append_only();

create function remove_past_audit_events(retention_days integer) returns bigint
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
  removed bigint;
begin
  if retention_days is null or retention_days < 1 then
    raise exception 'audit events are kept for a day at least' using errcode = 'invalid_parameter_value';
  end if;
  perform set_config('grantline.audit_retention', 'running', true);
  delete from audit_events where at < now() - make_interval(days => retention_days);
  get diagnostics removed = row_count;
  perform set_config('grantline.audit_retention', '', true);
  return removed;
end
$$;

comment on function remove_past_audit_events is 'The only way out of audit_events: removes what is older than so many days, with the rights of the owner, and says how many.';

-- 0002-accounts
create table principal_names (
  name text constraint principal_names_pkey primary key,
  holder text not null constraint principal_names_holder_known check (holder in ('account', 'engine')),
  claimed_at timestamptz not null
);

comment on table principal_names is 'Every name that the query engine may meet, and whether an account or an engine principal (service accounts of the settings among them) holds it. A name is never given back: it must not outlive its holder in somebody else''s hands.';

-- Accounts are ASCII; folding only ASCII letters keeps the answer the same under every locale (Turkish has two letters i).
create unique index principal_names_one_in_any_case on principal_names (lower(name collate "C"));

create table users (
  id integer generated always as identity constraint users_pkey primary key,
  username text not null constraint users_username_is_claimed references principal_names (name),
  email text not null,
  password_hash text not null constraint users_password_hash_is_bcrypt
    check (password_hash ~ '^[$]2[aby][$](0[4-9]|1[0-5])[$][./A-Za-z0-9]{53}$'),
  one_time_until timestamptz,
  role text not null constraint users_role_known check (role in ('user', 'admin')),
  is_active boolean not null,
  created_at timestamptz not null
);

comment on table users is 'Accounts. Username and e-mail are stored as typed and unique in any case.';
comment on column users.password_hash is 'bcrypt, $2a$, $2b$ or $2y$; passwords over 72 bytes went through HMAC-SHA-256 first (docs/decisions).';
comment on column users.one_time_until is 'The password is a one-time password of an administrator''s: until when it may sign in. It opens nothing but the change of it.';

create unique index users_username_in_any_case on users (lower(username collate "C"));
create unique index users_email_in_any_case on users (lower(email collate "C"));
create index users_active_administrators on users (id) where role = 'admin' and is_active;

-- 0003-sessions
create table sessions (
  id uuid constraint sessions_pkey primary key,
  number bigserial not null,
  user_id integer not null constraint sessions_user_exists references users (id) on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  user_agent text,
  address text not null
);

comment on column sessions.number is 'Rises with time: the order of lists.';
comment on table sessions is 'A sign-in and everything refreshed from it (a token family). While it lives, its access tokens do; expires_at is absolute.';

create index sessions_living_of_user on sessions (user_id, number) where ended_at is null;
create index sessions_by_expiry on sessions (expires_at);

create table refresh_tokens (
  id bytea constraint refresh_tokens_pkey primary key,
  session_id uuid not null constraint refresh_tokens_session_exists references sessions (id) on delete cascade,
  parent_id bytea,
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);

comment on table refresh_tokens is 'Refresh tokens, used and live, until they expire. id is the SHA-256 of its jti; the token itself is stored nowhere.';
comment on column refresh_tokens.parent_id is 'The token that was exchanged for this one; null: issued at the sign-in.';

-- Rotation leaves one live token in a family, whatever races or dies in the middle.
create unique index refresh_tokens_one_live_per_session on refresh_tokens (session_id) where used_at is null;
create index refresh_tokens_by_expiry on refresh_tokens (expires_at);

-- 0004-throttle-counters
-- Three columns in this order: rate-limiter-flexible inserts without naming them.
create table throttle_counters (
  key text constraint throttle_counters_pkey primary key,
  points integer not null,
  expire bigint
);

comment on table throttle_counters is 'Attempts per (username, client address) and per client address in the window that ends at expire (ms since 1970). Keys hold digests of usernames, not the usernames.';

create index throttle_counters_by_expiry on throttle_counters (expire);

-- 0020-grants
create table groups (
  id integer generated always as identity constraint groups_pkey primary key,
  name text not null,
  description text,
  created_at timestamptz not null,
  deleted_at timestamptz
);

comment on table groups is 'Grantline''s own groups of accounts. A deleted one keeps its row, because revoked grants still name it; nothing live does.';

create unique index groups_name_in_any_case on groups (lower(name collate "C")) where deleted_at is null;

create table group_members (
  group_id integer not null constraint group_members_group_exists references groups (id),
  user_id integer not null constraint group_members_user_exists references users (id),
  added_at timestamptz not null,
  constraint group_members_pkey primary key (group_id, user_id)
);

comment on table group_members is 'Who is in which group, now. The audit trail says since when and by whom.';

create index group_members_by_user on group_members (user_id);

create table grants (
  id integer generated always as identity constraint grants_pkey primary key,
  user_id integer constraint grants_user_exists references users (id),
  group_id integer constraint grants_group_exists references groups (id),
  engine_name text constraint grants_engine_name_is_claimed references principal_names (name),
  catalog_name text not null,
  schema_name text,
  table_name text,
  privileges text[] not null,
  expires_at timestamptz,
  description text,
  granted_by integer constraint grants_giver_exists references users (id),
  granted_at timestamptz not null,
  revoked_by integer constraint grants_revoker_exists references users (id),
  revoked_at timestamptz,
  constraint grants_one_principal check (num_nonnulls(user_id, group_id, engine_name) = 1),
  constraint grants_table_has_schema check (table_name is null or schema_name is not null),
  constraint grants_privileges_known check (
    cardinality(privileges) > 0
    and privileges <@ array['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP', 'GRANT_SELECT']
  )
);

comment on table grants is 'Who may do what on which node and everything below it. Never changed but by revoking; revoked and expired rows stay.';
comment on column grants.engine_name is 'An engine principal: a literal name on the engine that is no account.';
comment on column grants.privileges is 'In the engine''s own order, each once, so that equal sets are equal arrays.';
comment on column grants.granted_by is 'Null: granted on the command line.';

-- Granting is idempotent, also under races. coalesce, because PostgreSQL 14 takes two nulls for different.
create unique index grants_one_live on grants (
  coalesce(user_id, 0), coalesce(group_id, 0), coalesce(engine_name, ''),
  catalog_name, coalesce(schema_name, ''), coalesce(table_name, ''),
  privileges, coalesce(expires_at, 'infinity')
) where revoked_at is null;
create index grants_of_user on grants (user_id, id) where user_id is not null;
create index grants_of_group on grants (group_id, id) where group_id is not null;
create index grants_of_engine_principal on grants (engine_name, id) where engine_name is not null;
create index grants_on_node on grants (catalog_name, schema_name, table_name, id);
create index grants_by_expiry on grants (expires_at) where revoked_at is null and expires_at is not null;

-- 0021-policies
create table policies (
  id integer generated always as identity constraint policies_pkey primary key,
  kind text not null,
  is_for_everyone boolean not null,
  user_id integer constraint policies_user_exists references users (id),
  group_id integer constraint policies_group_exists references groups (id),
  engine_name text constraint policies_engine_name_is_claimed references principal_names (name),
  catalog_name text not null,
  schema_name text,
  table_name text,
  column_name text,
  expression text,
  privileges text[],
  description text,
  created_at timestamptz not null,
  changed_at timestamptz not null,
  removed_at timestamptz,
  constraint policies_one_subject check (num_nonnulls(user_id, group_id, engine_name) = case when is_for_everyone then 0 else 1 end),
  constraint policies_table_has_schema check (table_name is null or schema_name is not null),
  constraint policies_parts_of_kind check (
    case kind
      when 'row_filter' then column_name is null and expression is not null and privileges is null
      when 'column_mask' then column_name is not null and expression is not null and privileges is null
      when 'hidden_column' then column_name is not null and expression is null and privileges is null
      when 'deny' then column_name is null and expression is null and cardinality(privileges) > 0
        and privileges <@ array['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP', 'GRANT_SELECT']
      else false
    end
  )
);

comment on table policies is 'What takes away: row filters, column masks, hidden columns, denies. Changed in place, in one step, so that nothing is open in between; a removed one keeps its row. The audit trail holds who and what before.';

create index policies_by_group on policies (group_id) where group_id is not null;
create index policies_on_node on policies (catalog_name, schema_name, table_name, id);

create table policy_exceptions (
  policy_id integer not null constraint policy_exceptions_policy_exists references policies (id),
  user_id integer constraint policy_exceptions_user_exists references users (id),
  group_id integer constraint policy_exceptions_group_exists references groups (id),
  engine_name text constraint policy_exceptions_engine_name_is_claimed references principal_names (name),
  constraint policy_exceptions_one_principal check (num_nonnulls(user_id, group_id, engine_name) = 1)
);

comment on table policy_exceptions is 'Whom a policy leaves alone.';

create unique index policy_exceptions_once on policy_exceptions (
  policy_id, coalesce(user_id, 0), coalesce(group_id, 0), coalesce(engine_name, '')
);
create index policy_exceptions_by_group on policy_exceptions (group_id) where group_id is not null;

-- 0040-queries
create table queries (
  id uuid constraint queries_pkey primary key,
  user_id integer not null constraint queries_user_exists references users (id) on delete cascade,
  run_as text not null,
  state text not null constraint queries_state_known
    check (state in ('queued', 'running', 'finished', 'failed', 'cancelled')),
  sql text not null,
  catalog text,
  schema text,
  trace_token text not null,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  deadline_at timestamptz not null,
  progress_percent double precision,
  engine_query_id text,
  columns jsonb,
  rows_returned bigint not null default 0,
  truncated boolean not null default false,
  update_count numeric,
  error_code text,
  error_message text,
  engine_error_name text,
  error_line integer,
  error_column integer,
  driver uuid,
  lease_until timestamptz,
  next_path text,
  page_path text,
  page_start bigint not null default 0,
  newest_from bigint not null default 0,
  waiting_since timestamptz,
  constraint queries_ended_or_driven check (
    case when state in ('queued', 'running')
      then finished_at is null and driver is not null and lease_until is not null
      else finished_at is not null and driver is null and lease_until is null and next_path is null and page_path is null
    end
  ),
  constraint queries_error_when_not_well check ((error_code is not null) = (state in ('failed', 'cancelled')))
);

comment on table queries is 'People''s statements on the engine. SQL text is kept for QUERY_RETENTION_DAYS; rows of results are never stored.';
comment on column queries.run_as is 'Whom the engine sees: the person''s username as it was when the statement was submitted.';
comment on column queries.driver is 'The replica that asks the engine for the next page; another may take over when lease_until has passed, or when it is asked for rows.';
comment on column queries.next_path is 'Where the engine''s next page is: a capability. Gone as soon as the statement has ended.';
comment on column queries.page_path is 'Where the page that waits for a reader was found; the engine gives the newest page again.';
comment on column queries.page_start is 'How many rows came before that page.';
comment on column queries.newest_from is 'Where the newest page handed out began, counted in rows; rows_returned is where it ended.';
comment on column queries.waiting_since is 'Since when rows have been waiting for a reader; null: none are.';

create index queries_of_user on queries (user_id, created_at desc, id desc);
create index queries_alive_of_user on queries (user_id) where state in ('queued', 'running');
create index queries_by_lease on queries (lease_until) where state in ('queued', 'running');
create index queries_by_end on queries (finished_at) where finished_at is not null;

-- 0060-publications
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

-- 0061-approvals
alter table acl_publications
  add column access jsonb,
  add column is_withdrawal boolean not null default false,
  add column snapshot_at timestamptz,
  add column compiler text not null default '';

-- Versions from before have no such moment; a snapshot is read minutes before it is published, and too early does no harm.
update acl_publications set snapshot_at = begun_at - interval '1 hour';

alter table acl_publications
  alter column snapshot_at set not null,
  alter column is_withdrawal drop default,
  alter column compiler drop default;

comment on column acl_publications.access is 'Who gained and lost what against the version before: the first of it, and counts of all. Null: nobody anything, or it was the first.';
comment on column acl_publications.is_withdrawal is 'Only what recorded changes took away went out, because an unexplained change waited for its approval. Later changes are still measured against the version before.';
comment on column acl_publications.snapshot_at is 'When the snapshot was read: what the audit trail tells of from then on explains the next change.';
comment on column acl_publications.compiler is 'Digest of the program that made the text; another one may make another text of the same snapshot.';

alter table acl_runs add column waiting jsonb;

comment on column acl_runs.waiting is 'The hash of the text that waits for an approval, and since when something does.';

create table acl_approvals (
  after_version integer not null constraint acl_approvals_version_exists references acl_publications (version),
  hash text not null,
  approved_by integer constraint acl_approvals_approver_exists references users (id),
  approved_at timestamptz not null,
  constraint acl_approvals_pkey primary key (after_version, hash)
);

comment on table acl_approvals is 'Texts that may follow a version although no recorded change explains everything in them.';

-- 0062-time-of-the-change
alter table acl_publications add column changed_at timestamptz;

comment on column acl_publications.changed_at is 'When the first change in it was recorded, or took effect by itself: from there the time to the engine is counted. Null: no recorded change is in it.';

-- 0063-audit-retention
create table audit_retention (
  only_row boolean constraint audit_retention_pkey primary key default true constraint audit_retention_one_row check (only_row),
  least_days integer not null constraint audit_retention_a_day_at_least check (least_days >= 1)
);

comment on table audit_retention is 'For how many days audit events are kept at least. The owner''s: grantline migrate writes AUDIT_RETENTION_DAYS of its own environment here, and the service''s role may only read it.';

insert into audit_retention (least_days) values (1);

-- Names are qualified: whoever may create in the schema public must not be able to slip in a table or a function of theirs.
create or replace function remove_past_audit_events(retention_days integer) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  least integer;
  removed bigint;
begin
  select least_days into strict least from public.audit_retention;
  if retention_days is null or retention_days < least then
    raise exception 'audit events are kept for % day(s) at least', least using errcode = 'invalid_parameter_value';
  end if;
  perform set_config('grantline.audit_retention', 'running', true);
  delete from public.audit_events where at < now() - make_interval(days => retention_days);
  get diagnostics removed = row_count;
  perform set_config('grantline.audit_retention', '', true);
  return removed;
end
$$;

-- PostgreSQL lets PUBLIC execute a new function. grantline migrate lets the service's role.
revoke execute on function remove_past_audit_events(integer) from public;

-- 0064-trail-position
-- Without a value for events from before: they are found by their ids.
alter table audit_events add column written_by bigint;
alter table audit_events alter column written_by set default pg_current_xact_id()::text::bigint;

comment on column audit_events.written_by is 'The transaction that wrote it: ids are given before a transaction ends, so an older id may appear later than a newer one.';

create index audit_events_by_transaction on audit_events (written_by);

alter table acl_publications add column trail_position text;

-- The moments are a replica''s own, and replicas may differ; a position that is too early does no harm.
update acl_publications p
   set trail_position = (select coalesce(max(id), 0) from audit_events e where e.at < p.snapshot_at - interval '1 hour') || ':0';

alter table acl_publications alter column trail_position set not null;

comment on column acl_publications.trail_position is 'Where the audit trail was before the snapshot was read (the newest id, and the oldest transaction that ran): what comes later explains the next change, whatever the clocks of replicas say.';

-- 0065-restores
alter table acl_publications
  add column broken_at timestamptz,
  add column restored_version integer constraint acl_publications_restored_exists references acl_publications (version),
  add column restored_until timestamptz,
  add column restore_reason text,
  add column restore_ended text constraint acl_publications_restore_ended_known check (restore_ended in ('time', 'hand', 'contradicted', 'replaced')),
  add constraint acl_publications_restored_whole check (
    (restored_version is null) = (restored_until is null)
    and (restored_version is null) = (restore_reason is null)
    and (restored_version is not null or restore_ended is null)
  );

comment on column acl_publications.broken_at is 'When the engine was seen to fail on this text, which it had never used before: the text is not published again.';
comment on column acl_publications.restored_version is 'The version whose text was put back here by an administrator. Later changes are still measured against the last version that was published whole.';
comment on column acl_publications.restored_until is 'When that ends by itself.';
comment on column acl_publications.restore_ended is 'How it ended; null: it lasts, or has not been found over yet.';

create index acl_publications_broken on acl_publications (hash) where broken_at is not null;

-- 0066-unreported-publications
alter table acl_publications
  add column edit jsonb,
  add column is_written boolean not null default true,
  add column is_reported boolean not null default true;

comment on column acl_publications.edit is 'The edit by hand that it overwrote, by the SHA-256 of its text (null: the text was gone).';
comment on column acl_publications.is_written is 'False: its text was live already, so that the target was not written.';
comment on column acl_publications.is_reported is 'Whether the audit trail has it. A run reports what an earlier one died with.';

create index acl_publications_unreported on acl_publications (version) where not is_reported;

-- 0067-restore-runs
alter table acl_runs add column is_restore boolean not null default false;

comment on column acl_runs.is_restore is 'It was asked to restore a version: its refusal leaves the rules that the grants mean.';

-- 0068-found-versions
alter table acl_publications add column is_found boolean not null default false;

comment on column acl_publications.is_found is 'Found at the target with a generation above every version here: the database was restored from a backup, or another installation publishes there. Its snapshot is that of the last version known before, or empty.';

create index acl_publications_found on acl_publications (version) where is_found;

-- 0069-publication-retention
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

-- Without it every removed version would be looked for in the whole table.
create index acl_publications_restored on acl_publications (restored_version) where restored_version is not null;
create index acl_publications_live on acl_publications (version) where live_at is not null;

-- 0070-accounts-without-a-password
alter table users
  alter column email drop not null,
  alter column password_hash drop not null,
  add column source text not null default 'local'
    constraint users_source_known check (source in ('local', 'import', 'oidc', 'scim')),
  add constraint users_one_time_password_is_one check (one_time_until is null or password_hash is not null);

comment on table users is 'Accounts. Username and e-mail are stored as given and unique in any case.';
comment on column users.email is 'Null: none is known, or another account has it.';
comment on column users.password_hash is 'bcrypt, $2a$, $2b$ or $2y$; passwords over 72 bytes went through HMAC-SHA-256 first (docs/decisions). Null: the account has no password.';
comment on column users.source is 'How the account came to be: local (registered, or made by an administrator), import (from a list), oidc, scim.';

alter table principal_names
  add column account_key text,
  add column former_of integer constraint principal_names_former_account_exists references users (id);

comment on column principal_names.account_key is 'An account''s name in one case, letters beyond ASCII included: no two accounts differ in case only. Null: an engine principal.';
comment on column principal_names.former_of is 'The account that was renamed away from this name, and alone can have it again.';

update principal_names set account_key = lower(name collate "C") where holder = 'account';
create unique index principal_names_one_account_in_any_case on principal_names (account_key);

-- So that a name can be respelled in its place.
alter table users
  drop constraint users_username_is_claimed,
  add constraint users_username_is_claimed foreign key (username) references principal_names (name) on update cascade;

-- 0071-nodes-and-principals
-- Additive: the version before reads and writes what it knows as before, until something new is granted.

create function privileges_on(node_kind text) returns text[] language sql immutable parallel safe
return case
  when node_kind in ('everything', 'catalog', 'schema') then array[
    'SELECT', 'INSERT', 'DELETE', 'UPDATE', 'SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT',
    'EXECUTE_FUNCTION', 'CALL_PROCEDURE'
  ]
  when node_kind = 'table' then array['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT']
  when node_kind = 'routine' then array['EXECUTE_FUNCTION', 'CALL_PROCEDURE']
  when node_kind = 'engine' then array['VIEW_QUERIES', 'KILL_QUERIES', 'READ_SYSTEM_INFORMATION', 'WRITE_SYSTEM_INFORMATION']
  when node_kind = 'acting' then array['IMPERSONATE']
  else array[]::text[]
end;

comment on function privileges_on(text) is 'What can be granted and denied on a kind of node: the table of src/trino-rules/model/privilege.ts, which a spec compares with it.';

create function node_level(node_kind text, schema_name text, table_name text) returns text language sql immutable parallel safe
return case
  when node_kind <> 'tree' then node_kind
  when table_name is not null then 'table'
  when schema_name is not null then 'schema'
  else 'catalog'
end;

comment on function node_level(text, text, text) is 'The kind of a node as the model names it: of a node of the tree, its deepest level.';

alter table grants
  alter column catalog_name drop not null,
  add column is_for_everyone boolean not null default false,
  add column node_kind text not null default 'tree',
  add column as_user_id integer constraint grants_as_user_exists references users (id),
  add column as_group_id integer constraint grants_as_group_exists references groups (id),
  add column as_engine_name text constraint grants_as_engine_name_is_claimed references principal_names (name),
  add column is_as_everyone boolean not null default false,
  drop constraint grants_one_principal,
  drop constraint grants_privileges_known,
  add constraint grants_one_principal check (num_nonnulls(user_id, group_id, engine_name) + is_for_everyone::integer = 1),
  add constraint grants_node_kind_known check (node_kind in ('everything', 'tree', 'routine', 'engine', 'acting')),
  add constraint grants_catalog_of_kind check ((catalog_name is not null) = (node_kind in ('tree', 'routine'))),
  add constraint grants_names_of_kind check (
    case when catalog_name is null then num_nonnulls(schema_name, table_name) = 0 else node_kind <> 'routine' or table_name is not null end
  ),
  add constraint grants_acting_of_kind check (
    num_nonnulls(as_user_id, as_group_id, as_engine_name) + is_as_everyone::integer = (node_kind = 'acting')::integer
  ),
  add constraint grants_privileges_known check (
    cardinality(privileges) > 0 and privileges <@ privileges_on(node_level(node_kind, schema_name, table_name))
  );

comment on column grants.node_kind is 'everything: all data catalogs; tree: a catalog, a schema or a table, by its names; routine: a function or a procedure; engine: the engine itself; acting: acting as others, whom the columns as_… say.';
comment on column grants.table_name is 'Of a routine, its name.';

-- Beside grants_one_live, which takes two nulls of catalog_name for different.
create unique index grants_one_live_without_catalog on grants (
  coalesce(user_id, 0), coalesce(group_id, 0), coalesce(engine_name, ''),
  node_kind, coalesce(as_user_id, 0), coalesce(as_group_id, 0), coalesce(as_engine_name, ''),
  privileges, coalesce(expires_at, 'infinity')
) where revoked_at is null and catalog_name is null;
create index grants_for_everyone on grants (id) where is_for_everyone;
create index grants_as_group on grants (as_group_id) where as_group_id is not null;

alter table policies
  alter column catalog_name drop not null,
  add column node_kind text not null default 'tree',
  add column as_user_id integer constraint policies_as_user_exists references users (id),
  add column as_group_id integer constraint policies_as_group_exists references groups (id),
  add column as_engine_name text constraint policies_as_engine_name_is_claimed references principal_names (name),
  add column is_as_everyone boolean not null default false,
  drop constraint policies_parts_of_kind,
  add constraint policies_node_kind_known check (node_kind in ('everything', 'tree', 'routine', 'engine', 'acting')),
  add constraint policies_catalog_of_kind check ((catalog_name is not null) = (node_kind in ('tree', 'routine'))),
  add constraint policies_names_of_kind check (
    case when catalog_name is null then num_nonnulls(schema_name, table_name) = 0 else node_kind <> 'routine' or table_name is not null end
  ),
  add constraint policies_acting_of_kind check (
    num_nonnulls(as_user_id, as_group_id, as_engine_name) + is_as_everyone::integer = (node_kind = 'acting')::integer
  ),
  add constraint policies_parts_of_kind check (
    case kind
      when 'row_filter' then column_name is null and expression is not null and privileges is null and node_kind in ('everything', 'tree')
      when 'column_mask' then column_name is not null and expression is not null and privileges is null and node_kind in ('everything', 'tree')
      when 'hidden_column' then column_name is not null and expression is null and privileges is null and node_kind in ('everything', 'tree')
      when 'deny' then column_name is null and expression is null and cardinality(privileges) > 0
        and privileges <@ privileges_on(node_level(node_kind, schema_name, table_name))
      else false
    end
  );

comment on column policies.node_kind is 'As of grants. Only a deny stands beside the data: on a routine, on the engine, on acting as others.';
comment on column policies.table_name is 'Of a routine, its name.';

create index policies_as_group on policies (as_group_id) where as_group_id is not null;

alter table group_members
  add column engine_name text constraint group_members_engine_name_is_claimed references principal_names (name),
  drop constraint group_members_pkey,
  alter column user_id drop not null,
  add constraint group_members_one_member check (num_nonnulls(user_id, engine_name) = 1);

comment on table group_members is 'Accounts and engine principals in groups, now. The audit trail says since when and by whom.';

-- Two nulls of user_id are different here.
create unique index group_members_users on group_members (group_id, user_id);
create unique index group_members_engine_principals on group_members (group_id, engine_name) where engine_name is not null;
create index group_members_by_engine_principal on group_members (engine_name) where engine_name is not null;

comment on table groups is 'Grantline''s own groups of accounts and engine principals. A deleted one keeps its row, because revoked grants still name it; nothing live does.';

-- 0072-rights-held-by-name
-- Shutting nodes down is nobody's as a member of a group.
alter table grants add constraint grants_held_by_name check (
  not privileges @> array['WRITE_SYSTEM_INFORMATION'] or num_nonnulls(user_id, engine_name) = 1
);

-- 0073-acting-by-engine-principals
-- People do not become other people. Nothing could be granted on acting as others before.
alter table grants add constraint grants_acting_held_by_engine_principals check (node_kind <> 'acting' or engine_name is not null);

-- 0074-reading-system
-- Of the engine's own catalog, its tables are read by a grant, and nothing else is given there. Additive: the version before writes nothing there.
alter table grants add constraint grants_in_system check (
  catalog_name <> 'system'
  or (
    node_kind = 'tree' and table_name is null and (schema_name is null or schema_name in ('jdbc', 'metadata', 'runtime'))
    and privileges = array['SELECT']
  )
);

alter table policies add constraint policies_in_system check (
  catalog_name <> 'system'
  or (
    kind = 'deny' and node_kind = 'tree' and table_name is null
    and (schema_name is null or schema_name in ('jdbc', 'metadata', 'runtime')) and privileges = array['SELECT']
  )
);

-- 0075-api-tokens
create table api_tokens (
  id text constraint api_tokens_pkey primary key,
  user_id integer not null constraint api_tokens_user_exists references users (id),
  name text not null,
  scopes text[] not null,
  digest bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  last_used_at timestamptz
);

comment on table api_tokens is 'Tokens of programs, which act for an account. A revoked one has no row; the audit trail names it by id and name.';
comment on column api_tokens.id is 'Part of the token, so that whoever finds one can say which it is.';
comment on column api_tokens.digest is 'SHA-256 of the token; the token itself is stored nowhere.';
comment on column api_tokens.last_used_at is 'To the minute.';

create index api_tokens_by_user on api_tokens (user_id);

alter table audit_events add column token_id text, add column token_name text;

comment on column audit_events.token_id is 'The API token by which the actor acted; null: by none.';

-- 0076-people-by-oidc
create table oidc_people (
  issuer text not null,
  subject text not null,
  user_id integer not null constraint oidc_people_user_exists references users (id),
  linked_at timestamptz not null,
  constraint oidc_people_pkey primary key (issuer, subject),
  constraint oidc_people_one_person_of_a_user unique (user_id)
);

comment on table oidc_people is 'Which account a person of an identity provider has. By issuer and subject alone: names and e-mail addresses go from one person to another.';

create table oidc_codes (
  digest bytea constraint oidc_codes_pkey primary key,
  user_id integer not null constraint oidc_codes_user_exists references users (id),
  challenge text not null,
  expires_at timestamptz not null
);

comment on table oidc_codes is 'Codes that web clients exchange for tokens, once. digest is the SHA-256 of the code; the code itself is stored nowhere.';
comment on column oidc_codes.challenge is 'The web client''s own (RFC 7636, S256).';

create index oidc_codes_by_expiry on oidc_codes (expires_at);

create table oidc_used (
  digest bytea constraint oidc_used_pkey primary key,
  expires_at timestamptz not null
);

comment on table oidc_used is 'What is taken once, until it would be refused for its age: SHA-256 of the state of a sign-in.';

create index oidc_used_by_expiry on oidc_used (expires_at);

-- 0077-people-by-scim
alter table users add column deactivated_by text
  constraint users_deactivated_by_known check (deactivated_by in ('administrator', 'scim'));

comment on column users.deactivated_by is 'Who deactivated the account: SCIM activates only what it deactivated. Null: it is active, or an administrator did before this was recorded.';

create table scim_users (
  user_id integer constraint scim_users_pkey primary key constraint scim_users_user_exists references users (id),
  external_id text,
  formatted_name text,
  family_name text,
  given_name text,
  display_name text,
  emails jsonb not null,
  changed_at timestamptz not null
);

comment on table scim_users is 'The accounts that SCIM manages, with what it said about them that an account does not have. A deleted one has no row, its account stays.';
comment on column scim_users.emails is 'As they were given, in their order: a list of {value, type, primary}. The account has one of them at most.';

create unique index scim_users_external_id on scim_users (external_id);

-- 0078-groups-by-their-source
alter table groups
  add column source text not null default 'local'
    constraint groups_source_known check (source in ('local', 'oidc', 'scim')),
  add column external_id text,
  add column version integer not null default 1,
  add column changed_at timestamptz;

comment on column groups.source is 'Who says how the group is called and which members it has: local (administrators), or the identity provider alone, by oidc or scim.';
comment on column groups.external_id is 'The identity provider''s own id of the group.';
comment on column groups.version is 'Rises with each change of the group or of its members: for ETag and If-Match of SCIM.';
comment on column groups.changed_at is 'When the version last rose; null: not since the group was made.';

-- 0079-sessions-of-the-provider
delete from oidc_codes;

alter table oidc_codes
  add column issuer text not null,
  add column subject text not null,
  add column sid text,
  add column id_token text not null;

comment on column oidc_codes.id_token is 'With issuer, subject and sid what oidc_sessions holds of the session that the code begins.';

create table oidc_sessions (
  session_id uuid constraint oidc_sessions_pkey primary key
    constraint oidc_sessions_session_exists references sessions (id) on delete cascade,
  issuer text not null,
  subject text not null,
  sid text,
  id_token text not null
);

comment on table oidc_sessions is 'What the provider calls the sessions that began there: it ends them by these names, and people sign out there by the token.';
comment on column oidc_sessions.subject is 'The claim sub, which the provider names; people are linked by the claim of the settings, which may be another.';
comment on column oidc_sessions.sid is 'The provider''s own session, of which there may be several of ours. Null: it names none.';
comment on column oidc_sessions.id_token is 'Sealed.';

create index oidc_sessions_by_sid on oidc_sessions (sid) where sid is not null;
create index oidc_sessions_by_subject on oidc_sessions (subject);

-- 0080-procedures-and-tables-of-system
-- Additive: the version before reads and writes what it knows as before, until something new is granted.

create or replace function privileges_on(node_kind text) returns text[] language sql immutable parallel safe
return case
  when node_kind in ('everything', 'catalog', 'schema') then array[
    'SELECT', 'INSERT', 'DELETE', 'UPDATE', 'SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT',
    'EXECUTE_FUNCTION', 'GRANT_EXECUTE_FUNCTION', 'CALL_PROCEDURE'
  ]
  when node_kind = 'table' then array['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT']
  when node_kind = 'routine' then array['EXECUTE_FUNCTION', 'GRANT_EXECUTE_FUNCTION', 'CALL_PROCEDURE']
  when node_kind = 'engine' then array['VIEW_QUERIES', 'KILL_QUERIES', 'READ_SYSTEM_INFORMATION', 'WRITE_SYSTEM_INFORMATION']
  when node_kind = 'acting' then array['IMPERSONATE']
  else array[]::text[]
end;

-- Of the engine's own catalog, its tables are read by a grant, and its one procedure is called by one.
create function is_open_in_system(node_kind text, schema_name text, table_name text, privileges text[]) returns boolean
language sql immutable parallel safe
return case node_kind
  when 'tree' then (schema_name is null or schema_name in ('jdbc', 'metadata', 'runtime')) and privileges = array['SELECT']
  when 'routine' then schema_name = 'runtime' and table_name = 'kill_query' and privileges = array['CALL_PROCEDURE']
  else false
end;

comment on function is_open_in_system(text, text, text, text[]) is 'What can be granted and denied in the catalog system: see closedProblem and privilegesOn in src/trino-rules/model.';

alter table grants
  drop constraint grants_in_system,
  add constraint grants_in_system check (
    catalog_name <> 'system' or is_open_in_system(node_kind, schema_name, table_name, privileges)
  );

alter table policies
  drop constraint policies_in_system,
  add constraint policies_in_system check (
    catalog_name <> 'system' or (kind = 'deny' and is_open_in_system(node_kind, schema_name, table_name, privileges))
  );

-- 0081-console-sessions
alter table sessions
  add column cookie_digest bytea,
  add column last_used_at timestamptz,
  add column proved_at timestamptz,
  add constraint sessions_one_cookie unique (cookie_digest),
  add constraint sessions_of_browsers_whole
    check (num_nulls(cookie_digest, last_used_at, proved_at) in (0, 3));

comment on column sessions.cookie_digest is 'Of a session of the web console: SHA-256 of its cookie. The cookie itself is stored nowhere. Null: a session with tokens.';
comment on column sessions.last_used_at is 'When a cookie was last used, to the minute: unused sessions of the web console end.';
comment on column sessions.proved_at is 'When the person of a cookie last proved who it is, by password or at the identity provider.';

-- 0082-administrators-by-a-group
alter table users
  add column role_by_group boolean not null default false,
  add constraint users_role_by_group_is_admin check (role = 'admin' or not role_by_group);

comment on column users.role_by_group is 'An administrator as a member of the identity provider''s group of administrators alone: outside of it a user again.';

create index users_by_group on users (id) where role_by_group;

alter table oidc_people add column signed_in_at timestamptz;

comment on column oidc_people.signed_in_at is 'When the person last signed in at the identity provider; null: when it was linked.';

update oidc_people p set signed_in_at = e.at
  from (select actor_id, max(at) as at from audit_events where event = 'login_succeeded' and details ->> 'by' = 'oidc' group by actor_id) e
 where e.actor_id = p.user_id;

-- 0083-sessions-by-exchange
alter table oidc_sessions alter column id_token drop not null;

comment on column oidc_sessions.id_token is 'Sealed. Null: it began with a token of another client''s, by which nobody signs out at the provider.';

-- 0084-who-caused-a-run
alter table acl_runs
  add column triggered_by integer constraint acl_runs_trigger_exists references users (id),
  add column after_version integer not null default 0;

update acl_runs r set after_version =
  (select coalesce(max(version), 0) from acl_publications where state = 'published' and published_at <= r.at)
  where outcome in ('refused', 'failed');

comment on column acl_runs.triggered_by is 'The account that requested it. Null: nobody did, or it ran before this was recorded.';
comment on column acl_runs.after_version is 'The newest published version once it had ended: its place among them, whatever the clocks of replicas say.';

create index acl_runs_among_versions on acl_runs (after_version, id) where outcome in ('refused', 'failed');

-- 0085-events-of-a-request
-- All events of one request are asked for together.
create index audit_events_by_request on audit_events (request_id, id) where request_id is not null;

-- 0086-rechecks-at-the-provider
alter table oidc_codes add column refresh_token text;

alter table oidc_sessions
  add column refresh_token text,
  add column asked_at timestamptz not null default now();

comment on column oidc_sessions.refresh_token is 'The provider''s, sealed: by it the provider is asked whether the session goes on. Null: it gave none, or has refused it.';
comment on column oidc_sessions.asked_at is 'When the provider last vouched for the session, or was last asked: by one replica for all.';

-- 0087-queries-of-some
-- Additive: the version before reads and writes what it knows as before, until something new is granted.

create or replace function privileges_on(node_kind text) returns text[] language sql immutable parallel safe
return case
  when node_kind in ('everything', 'catalog', 'schema') then array[
    'SELECT', 'INSERT', 'DELETE', 'UPDATE', 'SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT',
    'EXECUTE_FUNCTION', 'GRANT_EXECUTE_FUNCTION', 'CALL_PROCEDURE'
  ]
  when node_kind = 'table' then array['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT']
  when node_kind = 'routine' then array['EXECUTE_FUNCTION', 'GRANT_EXECUTE_FUNCTION', 'CALL_PROCEDURE']
  when node_kind = 'engine' then array['VIEW_QUERIES', 'KILL_QUERIES', 'READ_SYSTEM_INFORMATION', 'WRITE_SYSTEM_INFORMATION']
  when node_kind = 'queries' then array['VIEW_QUERIES', 'KILL_QUERIES']
  when node_kind = 'acting' then array['IMPERSONATE']
  else array[]::text[]
end;

alter table grants
  drop constraint grants_node_kind_known,
  drop constraint grants_acting_of_kind,
  add constraint grants_node_kind_known check (node_kind in ('everything', 'tree', 'routine', 'engine', 'queries', 'acting')),
  add constraint grants_acting_of_kind check (
    num_nonnulls(as_user_id, as_group_id, as_engine_name) + is_as_everyone::integer = (node_kind in ('queries', 'acting'))::integer
  );

comment on column grants.node_kind is 'everything: all data catalogs; tree: a catalog, a schema or a table, by its names; routine: a function or a procedure; engine: the engine itself; queries: the queries of those, and acting: acting as those, whom the columns as_… say.';

alter table policies
  drop constraint policies_node_kind_known,
  drop constraint policies_acting_of_kind,
  add constraint policies_node_kind_known check (node_kind in ('everything', 'tree', 'routine', 'engine', 'queries', 'acting')),
  add constraint policies_acting_of_kind check (
    num_nonnulls(as_user_id, as_group_id, as_engine_name) + is_as_everyone::integer = (node_kind in ('queries', 'acting'))::integer
  );

comment on column policies.node_kind is 'As of grants. Only a deny stands beside the data: on a routine, on the engine, on queries, on acting as others.';

-- 0088-executing-queries
-- Additive: the version before reads and writes what it knows as before, until it is granted.

create or replace function privileges_on(node_kind text) returns text[] language sql immutable parallel safe
return case
  when node_kind in ('everything', 'catalog', 'schema') then array[
    'SELECT', 'INSERT', 'DELETE', 'UPDATE', 'SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT',
    'EXECUTE_FUNCTION', 'GRANT_EXECUTE_FUNCTION', 'CALL_PROCEDURE'
  ]
  when node_kind = 'table' then array['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT']
  when node_kind = 'routine' then array['EXECUTE_FUNCTION', 'GRANT_EXECUTE_FUNCTION', 'CALL_PROCEDURE']
  when node_kind = 'engine' then array['EXECUTE_QUERIES', 'VIEW_QUERIES', 'KILL_QUERIES', 'READ_SYSTEM_INFORMATION', 'WRITE_SYSTEM_INFORMATION']
  when node_kind = 'queries' then array['VIEW_QUERIES', 'KILL_QUERIES']
  when node_kind = 'acting' then array['IMPERSONATE']
  else array[]::text[]
end;

-- 0091-one-more-query
-- Additive. A count of its own statement sees what those before it in the queue have inserted; within the INSERT it would not.

create function may_run_one_more(of_user integer, most_alive integer) returns boolean language plpgsql volatile as $$
begin
  -- One user's submissions one after the other, so that each counts those before it.
  perform pg_advisory_xact_lock(hashtext('queries'), of_user);
  return (select count(*) from queries where user_id = of_user and state in ('queued', 'running')) < most_alive;
end
$$;

-- 0092-claims-applied-last
-- Additive. A replica of the version before applies claims without a word here, for as long as it runs.

create table oidc_claims (
  user_id integer constraint oidc_claims_pkey primary key constraint oidc_claims_user_exists references users (id),
  issued_at timestamptz not null,
  held_until timestamptz not null
);

comment on table oidc_claims is 'What the identity provider said last about the groups of an account, by whichever token.';
comment on column oidc_claims.issued_at is 'The claim iat: older claims change no memberships.';
comment on column oidc_claims.held_until is 'Until when memberships count without another word of the provider''s.';

-- As after a sign-in of now: the longest that a session of one could last is the time after which it is asked again.
insert into oidc_claims (user_id, issued_at, held_until)
select distinct m.user_id, now(), now() + interval '12 hours'
  from group_members m join groups g on g.id = m.group_id
 where g.source = 'oidc' and m.user_id is not null;

-- 0093-ended-at-the-provider
-- Additive.

create table oidc_ended (
  issuer text not null,
  kind text not null constraint oidc_ended_kind_known check (kind in ('sid', 'subject')),
  value text not null,
  ended_at timestamptz not null,
  expires_at timestamptz not null,
  constraint oidc_ended_pkey primary key (issuer, kind, value)
);

comment on table oidc_ended is 'What the identity provider ended, until every token from before is refused for its age: one of its sessions, or all of a person.';
comment on column oidc_ended.ended_at is 'By the provider''s clock: tokens that it issued until then open no session.';

create index oidc_ended_by_expiry on oidc_ended (expires_at);

-- 0094-proofs-of-sessions-with-tokens
-- A replica of the version before opens sessions of the provider's with no proof noted, of which it asks for none.

alter table sessions
  drop constraint sessions_of_browsers_whole,
  add constraint sessions_of_browsers_whole check (
    num_nulls(cookie_digest, last_used_at) in (0, 2) and (cookie_digest is null or proved_at is not null)
  );

comment on column sessions.proved_at is 'When the person last proved who it is, by password or at the identity provider. Null: a session with tokens that began with a password, which is asked for no other proof.';

update sessions set proved_at = 'epoch'
  from oidc_sessions where session_id = id and proved_at is null;

alter table oidc_codes add column proved_at timestamptz not null default 'epoch';

comment on column oidc_codes.proved_at is 'When the person signed in at the provider itself; 1970: it does not say.';

-- 0102-digests-by-the-key
-- Digests of cookies and API tokens are made with a key from now on. Those that were made without it open nothing more.

delete from api_tokens;
delete from sessions where cookie_digest is not null;

comment on column api_tokens.digest is 'HMAC-SHA-256 of the token by a key derived from AUTH_SECRET_KEY; the token itself is stored nowhere.';
comment on column sessions.cookie_digest is 'Of a session of the web console: HMAC-SHA-256 of its cookie by a key derived from AUTH_SECRET_KEY. The cookie itself is stored nowhere. Null: a session with tokens.';

-- 0103-revoked-tokens
alter table api_tokens add column revoked_at timestamptz;

comment on table api_tokens is 'Tokens of programs, which act for an account. Revoked ones are kept until they would have expired, so that revoking twice is told from revoking what never was.';
comment on column api_tokens.revoked_at is 'Null: it is good until it expires.';

-- 0104-names-that-are-freed
comment on table principal_names is 'Every name that the query engine may meet, and whether an account or an engine principal (service accounts of the settings among them) holds it. A name has one holder.';
comment on column principal_names.former_of is 'The account that was renamed away from this name, and alone can have it, until an administrator frees it or the account is deleted.';

create index principal_names_of_renamed_accounts on principal_names (former_of) where former_of is not null;

-- Those of accounts that SCIM has deleted.
delete from principal_names where former_of in (
  select id from users where source = 'scim' and not exists (select from scim_users where user_id = users.id)
);

