create table oidc_people (
  issuer text not null,
  subject text not null,
  user_id integer not null constraint oidc_people_user_exists references users (id),
  linked_at timestamptz not null,
  constraint oidc_people_pkey primary key (issuer, subject),
  constraint oidc_people_one_person_of_a_user unique (user_id)
);

comment on table oidc_people is 'Which account a person of an identity provider has. By issuer and subject alone: names and e-mail addresses go from one person to another.';

create table oidc_codes (
  digest bytea constraint oidc_codes_pkey primary key,
  user_id integer not null constraint oidc_codes_user_exists references users (id),
  challenge text not null,
  expires_at timestamptz not null
);

comment on table oidc_codes is 'Codes that web clients exchange for tokens, once. digest is the SHA-256 of the code; the code itself is stored nowhere.';
comment on column oidc_codes.challenge is 'The web client''s own (RFC 7636, S256).';

create index oidc_codes_by_expiry on oidc_codes (expires_at);

create table oidc_used (
  digest bytea constraint oidc_used_pkey primary key,
  expires_at timestamptz not null
);

comment on table oidc_used is 'What is taken once, until it would be refused for its age: SHA-256 of the state of a sign-in.';

create index oidc_used_by_expiry on oidc_used (expires_at);
