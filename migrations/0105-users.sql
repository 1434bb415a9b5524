create table principal_names (
  name text constraint principal_names_pkey primary key,
  holder text not null constraint principal_names_holder_known check (holder in ('account', 'engine')),
  claimed_at timestamptz not null,
  account_key text,
  former_of integer
);

comment on table principal_names is 'Every name that the query engine may meet, and whether an account or an engine principal (service accounts of the settings among them) holds it. A name has one holder.';
comment on column principal_names.account_key is 'An account''s name in one case, letters beyond ASCII included: no two accounts differ in case only. Null: an engine principal.';
comment on column principal_names.former_of is 'The account that was renamed away from this name, and alone can have it, until an administrator frees it or the account is deleted.';

-- Accounts are ASCII; folding only ASCII letters keeps the answer the same under every locale (Turkish has two letters i).
create unique index principal_names_one_in_any_case on principal_names (lower(name collate "C"));
create unique index principal_names_one_account_in_any_case on principal_names (account_key);
create index principal_names_of_renamed_accounts on principal_names (former_of) where former_of is not null;

create table users (
  id integer generated always as identity constraint users_pkey primary key,
  -- A name can be respelled in its place.
  username text not null constraint users_username_is_claimed references principal_names (name) on update cascade,
  email text,
  password_hash text constraint users_password_hash_is_bcrypt
    check (password_hash ~ '^[$]2[aby][$](0[4-9]|1[0-5])[$][./A-Za-z0-9]{53}$'),
  one_time_until timestamptz,
  role text not null constraint users_role_known check (role in ('user', 'admin')),
  role_by_group boolean not null default false,
  is_active boolean not null,
  deactivated_by text constraint users_deactivated_by_known check (deactivated_by in ('administrator', 'scim')),
  source text not null default 'local' constraint users_source_known check (source in ('local', 'import', 'oidc', 'scim')),
  created_at timestamptz not null,
  constraint users_one_time_password_is_one check (one_time_until is null or password_hash is not null),
  constraint users_role_by_group_is_admin check (role = 'admin' or not role_by_group)
);

comment on table users is 'Accounts. Username and e-mail are stored as given and unique in any case.';
comment on column users.email is 'Null: none is known, or another account has it.';
comment on column users.password_hash is 'bcrypt, $2a$, $2b$ or $2y$; passwords over 72 bytes went through HMAC-SHA-256 first (docs/decisions). Null: the account has no password.';
comment on column users.one_time_until is 'The password is a one-time password of an administrator''s: until when it may sign in. It opens nothing but the change of it.';
comment on column users.role_by_group is 'An administrator as a member of the identity provider''s group of administrators alone: outside of it a user again.';
comment on column users.deactivated_by is 'Who deactivated the account: SCIM activates only what it deactivated. Null: it is active, or an administrator did before this was recorded.';
comment on column users.source is 'How the account came to be: local (registered, or made by an administrator), import (from a list), oidc, scim.';

create unique index users_username_in_any_case on users (lower(username collate "C"));
create unique index users_email_in_any_case on users (lower(email collate "C"));
create index users_active_administrators on users (id) where role = 'admin' and is_active;
create index users_by_group on users (id) where role_by_group;

alter table principal_names
  add constraint principal_names_former_account_exists foreign key (former_of) references users (id);
