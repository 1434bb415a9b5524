delete from oidc_codes;

alter table oidc_codes
  add column issuer text not null,
  add column subject text not null,
  add column sid text,
  add column id_token text not null;

comment on column oidc_codes.id_token is 'With issuer, subject and sid what oidc_sessions holds of the session that the code begins.';

create table oidc_sessions (
  session_id uuid constraint oidc_sessions_pkey primary key
    constraint oidc_sessions_session_exists references sessions (id) on delete cascade,
  issuer text not null,
  subject text not null,
  sid text,
  id_token text not null
);

comment on table oidc_sessions is 'What the provider calls the sessions that began there: it ends them by these names, and people sign out there by the token.';
comment on column oidc_sessions.subject is 'The claim sub, which the provider names; people are linked by the claim of the settings, which may be another.';
comment on column oidc_sessions.sid is 'The provider''s own session, of which there may be several of ours. Null: it names none.';
comment on column oidc_sessions.id_token is 'Sealed.';

create index oidc_sessions_by_sid on oidc_sessions (sid) where sid is not null;
create index oidc_sessions_by_subject on oidc_sessions (subject);
