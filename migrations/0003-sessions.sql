create table sessions (
  id uuid constraint sessions_pkey primary key,
  number bigserial not null,
  user_id integer not null constraint sessions_user_exists references users (id) on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  user_agent text,
  address text not null
);

comment on column sessions.number is 'Rises with time: the order of lists.';
comment on table sessions is 'A sign-in and everything refreshed from it (a token family). While it lives, its access tokens do; expires_at is absolute.';

create index sessions_living_of_user on sessions (user_id, number) where ended_at is null;
create index sessions_by_expiry on sessions (expires_at);

create table refresh_tokens (
  id bytea constraint refresh_tokens_pkey primary key,
  session_id uuid not null constraint refresh_tokens_session_exists references sessions (id) on delete cascade,
  parent_id bytea,
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);

comment on table refresh_tokens is 'Refresh tokens, used and live, until they expire. id is the SHA-256 of its jti; the token itself is stored nowhere.';
comment on column refresh_tokens.parent_id is 'The token that was exchanged for this one; null: issued at the sign-in.';

-- Rotation leaves one live token in a family, whatever races or dies in the middle.
create unique index refresh_tokens_one_live_per_session on refresh_tokens (session_id) where used_at is null;
create index refresh_tokens_by_expiry on refresh_tokens (expires_at);
