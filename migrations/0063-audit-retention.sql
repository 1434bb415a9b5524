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
