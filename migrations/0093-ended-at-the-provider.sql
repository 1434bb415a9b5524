-- Additive.

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
