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
