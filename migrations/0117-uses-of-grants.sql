create table grant_uses (
  grant_id integer not null constraint grant_uses_grant_exists references grants (id),
  day date not null,
  person text not null,
  privilege text not null,
  decisions bigint not null,
  constraint grant_uses_pkey primary key (grant_id, day, person, privilege)
);

comment on table grant_uses is 'How often a grant gave a right in decisions of OPA, from its decision logs, for OPA_DECISION_RETENTION_DAYS. Neither single decisions nor the objects that were asked about are stored.';
comment on column grant_uses.day is 'In UTC, by the clock of the OPA.';
comment on column grant_uses.person is 'The name on the engine: an account or an engine principal.';

create table decision_logs (
  only_row boolean constraint decision_logs_pkey primary key default true constraint decision_logs_one_row check (only_row),
  since date not null
);

comment on table decision_logs is 'The day since which decision logs are counted; no row: there were none, or they are off.';
