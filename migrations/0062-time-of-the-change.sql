alter table acl_publications add column changed_at timestamptz;

comment on column acl_publications.changed_at is 'When the first change in it was recorded, or took effect by itself: from there the time to the engine is counted. Null: no recorded change is in it.';
