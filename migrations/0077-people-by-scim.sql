alter table users add column deactivated_by text
  constraint users_deactivated_by_known check (deactivated_by in ('administrator', 'scim'));

comment on column users.deactivated_by is 'Who deactivated the account: SCIM activates only what it deactivated. Null: it is active, or an administrator did before this was recorded.';

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
