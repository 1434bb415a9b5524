create table opa_instances (
  instance text constraint opa_instances_pkey primary key,
  revision text,
  errors text[] not null,
  last_seen_at timestamptz not null,
  last_request_at timestamptz
);

comment on table opa_instances is 'Each OPA as it last reported by its status service: at most 100, of a day; the longest unseen goes.';
comment on column opa_instances.instance is 'Its label instance, which is the name of its pod, or else the id that OPA makes at each start.';
comment on column opa_instances.revision is 'The revision of the bundle by which it decides; null: it has none.';
comment on column opa_instances.last_request_at is 'When it last had an answer to a request for the bundle; null: never.';

create table opa_canary (
  only_row boolean constraint opa_canary_pkey primary key default true constraint opa_canary_one_row check (only_row),
  answer text,
  at timestamptz not null
);

comment on table opa_canary is 'What the configured engine last answered to the statement that the policy answers with the revision of the bundle.';
comment on column opa_canary.answer is 'Null: it did not answer, or with an error.';
