-- Additive. A replica of the version before applies claims without a word here, for as long as it runs.

create table oidc_claims (
  user_id integer constraint oidc_claims_pkey primary key constraint oidc_claims_user_exists references users (id),
  issued_at timestamptz not null,
  held_until timestamptz not null
);

comment on table oidc_claims is 'What the identity provider said last about the groups of an account, by whichever token.';
comment on column oidc_claims.issued_at is 'The claim iat: older claims change no memberships.';
comment on column oidc_claims.held_until is 'Until when memberships count without another word of the provider''s.';

-- As after a sign-in of now: the longest that a session of one could last is the time after which it is asked again.
insert into oidc_claims (user_id, issued_at, held_until)
select distinct m.user_id, now(), now() + interval '12 hours'
  from group_members m join groups g on g.id = m.group_id
 where g.source = 'oidc' and m.user_id is not null;
