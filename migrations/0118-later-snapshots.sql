alter table acl_publications
  add column later_snapshot text,
  add column later_snapshot_hash text,
  add column later_snapshot_at timestamptz,
  add column later_trail_position text,
  add column later_compiler text,
  add constraint acl_publications_later_snapshot_whole check (
    num_nulls(later_snapshot, later_snapshot_hash, later_snapshot_at, later_trail_position, later_compiler) in (0, 5)
  );

comment on column acl_publications.later_snapshot is 'The newest snapshot that gave the same rules in a run that was not refused: what later changes are measured against, instead of snapshot. Null: there was none, or it was the same.';
comment on column acl_publications.later_snapshot_hash is 'Digest of later_snapshot.';
comment on column acl_publications.later_snapshot_at is 'When later_snapshot was read.';
comment on column acl_publications.later_trail_position is 'Where the audit trail was before later_snapshot was read.';
comment on column acl_publications.later_compiler is 'Digest of the program that made the same rules of later_snapshot.';
