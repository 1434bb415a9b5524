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
