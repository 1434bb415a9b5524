alter table groups
  add column source text not null default 'local'
    constraint groups_source_known check (source in ('local', 'oidc', 'scim')),
  add column external_id text,
  add column version integer not null default 1,
  add column changed_at timestamptz;

comment on column groups.source is 'Who says how the group is called and which members it has: local (administrators), or the identity provider alone, by oidc or scim.';
comment on column groups.external_id is 'The identity provider''s own id of the group.';
comment on column groups.version is 'Rises with each change of the group or of its members: for ETag and If-Match of SCIM.';
comment on column groups.changed_at is 'When the version last rose; null: not since the group was made.';
