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
