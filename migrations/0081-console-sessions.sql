alter table sessions
  add column cookie_digest bytea,
  add column last_used_at timestamptz,
  add column proved_at timestamptz,
  add constraint sessions_one_cookie unique (cookie_digest),
  add constraint sessions_of_browsers_whole
    check (num_nulls(cookie_digest, last_used_at, proved_at) in (0, 3));

comment on column sessions.cookie_digest is 'Of a session of the web console: SHA-256 of its cookie. The cookie itself is stored nowhere. Null: a session with tokens.';
comment on column sessions.last_used_at is 'When a cookie was last used, to the minute: unused sessions of the web console end.';
comment on column sessions.proved_at is 'When the person of a cookie last proved who it is, by password or at the identity provider.';
