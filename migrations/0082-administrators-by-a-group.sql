alter table users
  add column role_by_group boolean not null default false,
  add constraint users_role_by_group_is_admin check (role = 'admin' or not role_by_group);

comment on column users.role_by_group is 'An administrator as a member of the identity provider''s group of administrators alone: outside of it a user again.';

create index users_by_group on users (id) where role_by_group;
