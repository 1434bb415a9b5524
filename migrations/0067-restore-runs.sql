alter table acl_runs add column is_restore boolean not null default false;

comment on column acl_runs.is_restore is 'It was asked to restore a version: its refusal leaves the rules that the grants mean.';
