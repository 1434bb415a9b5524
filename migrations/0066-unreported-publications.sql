alter table acl_publications
  add column edit jsonb,
  add column is_written boolean not null default true,
  add column is_reported boolean not null default true;

comment on column acl_publications.edit is 'The edit by hand that it overwrote, by the SHA-256 of its text (null: the text was gone).';
comment on column acl_publications.is_written is 'False: its text was live already, so that the target was not written.';
comment on column acl_publications.is_reported is 'Whether the audit trail has it. A run reports what an earlier one died with.';

create index acl_publications_unreported on acl_publications (version) where not is_reported;
