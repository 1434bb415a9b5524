create table groups (
  id integer generated always as identity constraint groups_pkey primary key,
  name text not null,
  description text,
  created_at timestamptz not null,
  deleted_at timestamptz
);

comment on table groups is 'Grantline''s own groups of accounts. A deleted one keeps its row, because revoked grants still name it; nothing live does.';

create unique index groups_name_in_any_case on groups (lower(name collate "C")) where deleted_at is null;

create table group_members (
  group_id integer not null constraint group_members_group_exists references groups (id),
  user_id integer not null constraint group_members_user_exists references users (id),
  added_at timestamptz not null,
  constraint group_members_pkey primary key (group_id, user_id)
);

comment on table group_members is 'Who is in which group, now. The audit trail says since when and by whom.';

create index group_members_by_user on group_members (user_id);

create table grants (
  id integer generated always as identity constraint grants_pkey primary key,
  user_id integer constraint grants_user_exists references users (id),
  group_id integer constraint grants_group_exists references groups (id),
  engine_name text constraint grants_engine_name_is_claimed references principal_names (name),
  catalog_name text not null,
  schema_name text,
  table_name text,
  privileges text[] not null,
  expires_at timestamptz,
  description text,
  granted_by integer constraint grants_giver_exists references users (id),
  granted_at timestamptz not null,
  revoked_by integer constraint grants_revoker_exists references users (id),
  revoked_at timestamptz,
  constraint grants_one_principal check (num_nonnulls(user_id, group_id, engine_name) = 1),
  constraint grants_table_has_schema check (table_name is null or schema_name is not null),
  constraint grants_privileges_known check (
    cardinality(privileges) > 0
    and privileges <@ array['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP', 'GRANT_SELECT']
  )
);

comment on table grants is 'Who may do what on which node and everything below it. Never changed but by revoking; revoked and expired rows stay.';
comment on column grants.engine_name is 'An engine principal: a literal name on the engine that is no account.';
comment on column grants.privileges is 'In the engine''s own order, each once, so that equal sets are equal arrays.';
comment on column grants.granted_by is 'Null: granted on the command line.';

-- Granting is idempotent, also under races. coalesce, because PostgreSQL 14 takes two nulls for different.
create unique index grants_one_live on grants (
  coalesce(user_id, 0), coalesce(group_id, 0), coalesce(engine_name, ''),
  catalog_name, coalesce(schema_name, ''), coalesce(table_name, ''),
  privileges, coalesce(expires_at, 'infinity')
) where revoked_at is null;
create index grants_of_user on grants (user_id, id) where user_id is not null;
create index grants_of_group on grants (group_id, id) where group_id is not null;
create index grants_of_engine_principal on grants (engine_name, id) where engine_name is not null;
create index grants_on_node on grants (catalog_name, schema_name, table_name, id);
create index grants_by_expiry on grants (expires_at) where revoked_at is null and expires_at is not null;
