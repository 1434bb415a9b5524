alter table acl_runs add column targets jsonb not null default '[]';

comment on column acl_runs.targets is 'Each target after the run: the revision that it last held, with the SHA-256 of its text, and why it could not be read or written.';
