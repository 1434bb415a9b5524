alter table users
  alter column email drop not null,
  alter column password_hash drop not null,
  add column source text not null default 'local'
    constraint users_source_known check (source in ('local', 'import', 'oidc', 'scim')),
  add constraint users_one_time_password_is_one check (one_time_until is null or password_hash is not null);

comment on table users is 'Accounts. Username and e-mail are stored as given and unique in any case.';
comment on column users.email is 'Null: none is known, or another account has it.';
comment on column users.password_hash is 'bcrypt, $2a$, $2b$ or $2y$; passwords over 72 bytes went through HMAC-SHA-256 first (docs/decisions). Null: the account has no password.';
comment on column users.source is 'How the account came to be: local (registered, or made by an administrator), import (from a list), oidc, scim.';

alter table principal_names
  add column account_key text,
  add column former_of integer constraint principal_names_former_account_exists references users (id);

comment on column principal_names.account_key is 'An account''s name in one case, letters beyond ASCII included: no two accounts differ in case only. Null: an engine principal.';
comment on column principal_names.former_of is 'The account that was renamed away from this name, and alone can have it again.';

update principal_names set account_key = lower(name collate "C") where holder = 'account';
create unique index principal_names_one_account_in_any_case on principal_names (account_key);

-- So that a name can be respelled in its place.
alter table users
  drop constraint users_username_is_claimed,
  add constraint users_username_is_claimed foreign key (username) references principal_names (name) on update cascade;
