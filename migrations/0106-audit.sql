create table audit_events (
  id bigint generated always as identity constraint audit_events_pkey primary key,
  at timestamptz not null,
  event text not null,
  actor_id integer,
  actor_name text,
  token_id text,
  token_name text,
  subject_type text,
  subject_id text,
  subject_name text,
  address text,
  request_id text,
  details jsonb not null,
  written_by bigint default pg_current_xact_id()::text::bigint
);

comment on table audit_events is 'What happened, append-only: who (actor) did what (event) to what (subject), from where. Never a secret. No foreign keys: it outlives what it tells of.';
comment on column audit_events.actor_id is 'The account that acted; null: nobody was signed in, or the service itself acted.';
comment on column audit_events.token_id is 'The API token by which the actor acted; null: by none.';
comment on column audit_events.details is 'Facts of this kind of event, as an object.';
comment on column audit_events.written_by is 'The transaction that wrote it: ids are given before a transaction ends, so an older id may appear later than a newer one.';

create index audit_events_by_time on audit_events (at);
create index audit_events_by_event on audit_events (event, id);
create index audit_events_by_actor on audit_events (actor_id, id) where actor_id is not null;
create index audit_events_by_subject on audit_events (subject_type, subject_id, id) where subject_id is not null;
create index audit_events_by_transaction on audit_events (written_by);
-- All events of one request are asked for together.
create index audit_events_by_request on audit_events (request_id, id) where request_id is not null;

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

create table audit_retention (
  only_row boolean constraint audit_retention_pkey primary key default true constraint audit_retention_one_row check (only_row),
  least_days integer not null constraint audit_retention_a_day_at_least check (least_days >= 1)
);

comment on table audit_retention is 'For how many days audit events are kept at least. The owner''s: grantline migrate writes AUDIT_RETENTION_DAYS of its own environment here, and the service''s role may only read it.';

insert into audit_retention (least_days) values (1);

-- Names are qualified: whoever may create in the schema public must not be able to slip in a table or a function of theirs.
create function remove_past_audit_events(retention_days integer) returns bigint
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

comment on function remove_past_audit_events is 'The only way out of audit_events: removes what is older than so many days, with the rights of the owner, and says how many.';

-- PostgreSQL lets PUBLIC execute a new function. grantline migrate lets the service's role.
revoke execute on function remove_past_audit_events(integer) from public;
