create table api_tokens (
  id text constraint api_tokens_pkey primary key,
  user_id integer not null constraint api_tokens_user_exists references users (id),
  name text not null,
  scopes text[] not null,
  digest bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz
);

comment on table api_tokens is 'Tokens of programs, which act for an account. Revoked ones are kept until they would have expired, so that revoking twice is told from revoking what never was.';
comment on column api_tokens.id is 'Part of the token, so that whoever finds one can say which it is.';
comment on column api_tokens.digest is 'HMAC-SHA-256 of the token by a key derived from AUTH_SECRET_KEY; the token itself is stored nowhere.';
comment on column api_tokens.last_used_at is 'To the minute.';
comment on column api_tokens.revoked_at is 'Null: it is good until it expires.';

create index api_tokens_by_user on api_tokens (user_id);

create table oidc_people (
  issuer text not null,
  subject text not null,
  user_id integer not null constraint oidc_people_user_exists references users (id),
  linked_at timestamptz not null,
  signed_in_at timestamptz,
  constraint oidc_people_pkey primary key (issuer, subject),
  constraint oidc_people_one_person_of_a_user unique (user_id)
);

comment on table oidc_people is 'Which account a person of an identity provider has. By issuer and subject alone: names and e-mail addresses go from one person to another.';
comment on column oidc_people.signed_in_at is 'When the person last signed in at the identity provider; null: when it was linked.';

create table oidc_codes (
  digest bytea constraint oidc_codes_pkey primary key,
  user_id integer not null constraint oidc_codes_user_exists references users (id),
  challenge text not null,
  expires_at timestamptz not null,
  issuer text not null,
  subject text not null,
  sid text,
  id_token text not null,
  refresh_token text,
  proved_at timestamptz not null default 'epoch'
);

comment on table oidc_codes is 'Codes that web clients exchange for tokens, once. digest is the SHA-256 of the code; the code itself is stored nowhere.';
comment on column oidc_codes.challenge is 'The web client''s own (RFC 7636, S256).';
comment on column oidc_codes.id_token is 'With issuer, subject and sid what oidc_sessions holds of the session that the code begins.';
comment on column oidc_codes.proved_at is 'When the person signed in at the provider itself; 1970: it does not say.';

create index oidc_codes_by_expiry on oidc_codes (expires_at);

create table oidc_used (
  digest bytea constraint oidc_used_pkey primary key,
  expires_at timestamptz not null
);

comment on table oidc_used is 'What is taken once, until it would be refused for its age: SHA-256 of the state of a sign-in.';

create index oidc_used_by_expiry on oidc_used (expires_at);

create table oidc_sessions (
  session_id uuid constraint oidc_sessions_pkey primary key
    constraint oidc_sessions_session_exists references sessions (id) on delete cascade,
  issuer text not null,
  subject text not null,
  sid text,
  id_token text,
  refresh_token text,
  asked_at timestamptz not null default now()
);

comment on table oidc_sessions is 'What the provider calls the sessions that began there: it ends them by these names, and people sign out there by the token.';
comment on column oidc_sessions.subject is 'The claim sub, which the provider names; people are linked by the claim of the settings, which may be another.';
comment on column oidc_sessions.sid is 'The provider''s own session, of which there may be several of ours. Null: it names none.';
comment on column oidc_sessions.id_token is 'Sealed. Null: it began with a token of another client''s, by which nobody signs out at the provider.';
comment on column oidc_sessions.refresh_token is 'The provider''s, sealed: by it the provider is asked whether the session goes on. Null: it gave none, or has refused it.';
comment on column oidc_sessions.asked_at is 'When the provider last vouched for the session, or was last asked: by one replica for all.';

create index oidc_sessions_by_sid on oidc_sessions (sid) where sid is not null;
create index oidc_sessions_by_subject on oidc_sessions (subject);

create table oidc_claims (
  user_id integer constraint oidc_claims_pkey primary key constraint oidc_claims_user_exists references users (id),
  issued_at timestamptz not null,
  held_until timestamptz not null
);

comment on table oidc_claims is 'What the identity provider said last about the groups of an account, by whichever token.';
comment on column oidc_claims.issued_at is 'The claim iat: older claims change no memberships.';
comment on column oidc_claims.held_until is 'Until when memberships count without another word of the provider''s.';

create table oidc_ended (
  issuer text not null,
  kind text not null constraint oidc_ended_kind_known check (kind in ('sid', 'subject')),
  value text not null,
  ended_at timestamptz not null,
  expires_at timestamptz not null,
  constraint oidc_ended_pkey primary key (issuer, kind, value)
);

comment on table oidc_ended is 'What the identity provider ended, until every token from before is refused for its age: one of its sessions, or all of a person.';
comment on column oidc_ended.ended_at is 'By the provider''s clock: tokens that it issued until then open no session.';

create index oidc_ended_by_expiry on oidc_ended (expires_at);

create table scim_users (
  user_id integer constraint scim_users_pkey primary key constraint scim_users_user_exists references users (id),
  external_id text,
  formatted_name text,
  family_name text,
  given_name text,
  display_name text,
  emails jsonb not null,
  changed_at timestamptz not null
);

comment on table scim_users is 'The accounts that SCIM manages, with what it said about them that an account does not have. A deleted one has no row, its account stays.';
comment on column scim_users.emails is 'As they were given, in their order: a list of {value, type, primary}. The account has one of them at most.';

create unique index scim_users_external_id on scim_users (external_id);
