create table guarantees (
  id integer generated always as identity constraint guarantees_pkey primary key,
  name text not null constraint guarantees_name_length check (char_length(name) between 1 and 100),
  description text,
  mode text not null constraint guarantees_mode_known check (mode in ('enforced', 'reported')),
  definition jsonb not null,
  written_by integer constraint guarantees_writer_exists references users (id),
  created_at timestamptz not null,
  changed_at timestamptz not null,
  removed_at timestamptz,
  judged_at timestamptz,
  broken_since timestamptz,
  verdict jsonb
);

comment on table guarantees is 'Sentences about access that no published version may break. Changed in place, in one step; a removed one keeps its row. The audit trail holds who and what before.';
comment on column guarantees.definition is 'Kind, principals and scopes, as Guarantee in src/trino-rules/model/guarantee.ts.';
comment on column guarantees.written_by is 'Who wrote it last. Null: written on the command line.';
comment on column guarantees.judged_at is 'The moment of the snapshot that it was judged by last. Null: not judged yet.';
comment on column guarantees.broken_since is 'Null: it held when it was judged last.';
comment on column guarantees.verdict is 'Of that judgement: the number of breaches, the first witnesses, and how much was looked at.';

create unique index guarantees_name_in_any_case on guarantees (lower(name collate "C")) where removed_at is null;
