alter table acl_publications
  add column access jsonb,
  add column is_withdrawal boolean not null default false,
  add column snapshot_at timestamptz,
  add column compiler text not null default '';

-- Versions from before have no such moment; a snapshot is read minutes before it is published, and too early does no harm.
update acl_publications set snapshot_at = begun_at - interval '1 hour';

alter table acl_publications
  alter column snapshot_at set not null,
  alter column is_withdrawal drop default,
  alter column compiler drop default;

comment on column acl_publications.access is 'Who gained and lost what against the version before: the first of it, and counts of all. Null: nobody anything, or it was the first.';
comment on column acl_publications.is_withdrawal is 'Only what recorded changes took away went out, because an unexplained change waited for its approval. Later changes are still measured against the version before.';
comment on column acl_publications.snapshot_at is 'When the snapshot was read: what the audit trail tells of from then on explains the next change.';
comment on column acl_publications.compiler is 'Digest of the program that made the text; another one may make another text of the same snapshot.';

alter table acl_runs add column waiting jsonb;

comment on column acl_runs.waiting is 'The hash of the text that waits for an approval, and since when something does.';

create table acl_approvals (
  after_version integer not null constraint acl_approvals_version_exists references acl_publications (version),
  hash text not null,
  approved_by integer constraint acl_approvals_approver_exists references users (id),
  approved_at timestamptz not null,
  constraint acl_approvals_pkey primary key (after_version, hash)
);

comment on table acl_approvals is 'Texts that may follow a version although no recorded change explains everything in them.';
