create table sessions (
  id uuid constraint sessions_pkey primary key,
  number bigserial not null,
  user_id integer not null constraint sessions_user_exists references users (id) on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  user_agent text,
  address text not null,
  cookie_digest bytea constraint sessions_one_cookie unique,
  last_used_at timestamptz,
  proved_at timestamptz,
  constraint sessions_of_browsers_whole check (
    num_nulls(cookie_digest, last_used_at) in (0, 2) and (cookie_digest is null or proved_at is not null)
  )
);

comment on table sessions is 'A sign-in and everything refreshed from it (a token family). While it lives, its access tokens do; expires_at is absolute.';
comment on column sessions.number is 'Rises with time: the order of lists.';
comment on column sessions.cookie_digest is 'Of a session of the web console: HMAC-SHA-256 of its cookie by a key derived from AUTH_SECRET_KEY. The cookie itself is stored nowhere. Null: a session with tokens.';
comment on column sessions.last_used_at is 'When a cookie was last used, to the minute: unused sessions of the web console end.';
comment on column sessions.proved_at is 'When the person last proved who it is, by password or at the identity provider. Null: a session with tokens that began with a password, which is asked for no other proof.';

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

create table throttle_counters (
  key text constraint throttle_counters_pkey primary key,
  points integer not null,
  expire bigint
);

comment on table throttle_counters is 'Attempts per (username, client address) and per client address in the window that ends at expire (ms since 1970). Keys hold digests of usernames, not the usernames.';

create index throttle_counters_by_expiry on throttle_counters (expire);
