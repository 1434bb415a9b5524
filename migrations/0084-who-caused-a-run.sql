alter table acl_runs
  add column triggered_by integer constraint acl_runs_trigger_exists references users (id),
  add column after_version integer not null default 0;

update acl_runs r set after_version =
  (select coalesce(max(version), 0) from acl_publications where state = 'published' and published_at <= r.at)
  where outcome in ('refused', 'failed');

comment on column acl_runs.triggered_by is 'The account that requested it. Null: nobody did, or it ran before this was recorded.';
comment on column acl_runs.after_version is 'The newest published version once it had ended: its place among them, whatever the clocks of replicas say.';

create index acl_runs_among_versions on acl_runs (after_version, id) where outcome in ('refused', 'failed');
