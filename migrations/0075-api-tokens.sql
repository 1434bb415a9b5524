create table api_tokens (
  id text constraint api_tokens_pkey primary key,
  user_id integer not null constraint api_tokens_user_exists references users (id),
  name text not null,
  scopes text[] not null,
  digest bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  last_used_at timestamptz
);

comment on table api_tokens is 'Tokens of programs, which act for an account. A revoked one has no row; the audit trail names it by id and name.';
comment on column api_tokens.id is 'Part of the token, so that whoever finds one can say which it is.';
comment on column api_tokens.digest is 'SHA-256 of the token; the token itself is stored nowhere.';
comment on column api_tokens.last_used_at is 'To the minute.';

create index api_tokens_by_user on api_tokens (user_id);

alter table audit_events add column token_id text, add column token_name text;

comment on column audit_events.token_id is 'The API token by which the actor acted; null: by none.';
