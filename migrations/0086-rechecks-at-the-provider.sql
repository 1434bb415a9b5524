alter table oidc_codes add column refresh_token text;

alter table oidc_sessions
  add column refresh_token text,
  add column asked_at timestamptz not null default now();

comment on column oidc_sessions.refresh_token is 'The provider''s, sealed: by it the provider is asked whether the session goes on. Null: it gave none, or has refused it.';
comment on column oidc_sessions.asked_at is 'When the provider last vouched for the session, or was last asked: by one replica for all.';
