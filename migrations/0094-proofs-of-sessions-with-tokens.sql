-- A replica of the version before opens sessions of the provider's with no proof noted, of which it asks for none.

alter table sessions
  drop constraint sessions_of_browsers_whole,
  add constraint sessions_of_browsers_whole check (
    num_nulls(cookie_digest, last_used_at) in (0, 2) and (cookie_digest is null or proved_at is not null)
  );

comment on column sessions.proved_at is 'When the person last proved who it is, by password or at the identity provider. Null: a session with tokens that began with a password, which is asked for no other proof.';

update sessions set proved_at = 'epoch'
  from oidc_sessions where session_id = id and proved_at is null;

alter table oidc_codes add column proved_at timestamptz not null default 'epoch';

comment on column oidc_codes.proved_at is 'When the person signed in at the provider itself; 1970: it does not say.';
