alter table users
  add column role_by_group boolean not null default false,
  add constraint users_role_by_group_is_admin check (role = 'admin' or not role_by_group);

comment on column users.role_by_group is 'An administrator as a member of the identity provider''s group of administrators alone: outside of it a user again.';

create index users_by_group on users (id) where role_by_group;

alter table oidc_people add column signed_in_at timestamptz;

comment on column oidc_people.signed_in_at is 'When the person last signed in at the identity provider; null: when it was linked.';

update oidc_people p set signed_in_at = e.at
  from (select actor_id, max(at) as at from audit_events where event = 'login_succeeded' and details ->> 'by' = 'oidc' group by actor_id) e
 where e.actor_id = p.user_id;
