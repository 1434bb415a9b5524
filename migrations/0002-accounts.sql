create table principal_names (
  name text constraint principal_names_pkey primary key,
  holder text not null constraint principal_names_holder_known check (holder in ('account', 'engine')),
  claimed_at timestamptz not null
);

comment on table principal_names is 'Every name that the query engine may meet, and whether an account or an engine principal (service accounts of the settings among them) holds it. A name is never given back: it must not outlive its holder in somebody else''s hands.';

-- Accounts are ASCII; folding only ASCII letters keeps the answer the same under every locale (Turkish has two letters i).
create unique index principal_names_one_in_any_case on principal_names (lower(name collate "C"));

create table users (
  id integer generated always as identity constraint users_pkey primary key,
  username text not null constraint users_username_is_claimed references principal_names (name),
  email text not null,
  password_hash text not null constraint users_password_hash_is_bcrypt
    check (password_hash ~ '^[$]2[aby][$](0[4-9]|1[0-5])[$][./A-Za-z0-9]{53}$'),
  one_time_until timestamptz,
  role text not null constraint users_role_known check (role in ('user', 'admin')),
  is_active boolean not null,
  created_at timestamptz not null
);

comment on table users is 'Accounts. Username and e-mail are stored as typed and unique in any case.';
comment on column users.password_hash is 'bcrypt, $2a$, $2b$ or $2y$; passwords over 72 bytes went through HMAC-SHA-256 first (docs/decisions).';
comment on column users.one_time_until is 'The password is a one-time password of an administrator''s: until when it may sign in. It opens nothing but the change of it.';

create unique index users_username_in_any_case on users (lower(username collate "C"));
create unique index users_email_in_any_case on users (lower(email collate "C"));
create index users_active_administrators on users (id) where role = 'admin' and is_active;
