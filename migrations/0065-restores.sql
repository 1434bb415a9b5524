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
