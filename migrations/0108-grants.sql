create table groups (
  id integer generated always as identity constraint groups_pkey primary key,
  name text not null,
  description text,
  created_at timestamptz not null,
  deleted_at timestamptz,
  source text not null default 'local' constraint groups_source_known check (source in ('local', 'oidc', 'scim')),
  external_id text,
  version integer not null default 1,
  changed_at timestamptz
);

comment on table groups is 'Grantline''s own groups of accounts and engine principals. A deleted one keeps its row, because revoked grants still name it; nothing live does.';
comment on column groups.source is 'Who says how the group is called and which members it has: local (administrators), or the identity provider alone, by oidc or scim.';
comment on column groups.external_id is 'The identity provider''s own id of the group.';
comment on column groups.version is 'Rises with each change of the group or of its members: for ETag and If-Match of SCIM.';
comment on column groups.changed_at is 'When the version last rose; null: not since the group was made.';

create unique index groups_name_in_any_case on groups (lower(name collate "C")) where deleted_at is null;

create table group_members (
  group_id integer not null constraint group_members_group_exists references groups (id),
  user_id integer constraint group_members_user_exists references users (id),
  engine_name text constraint group_members_engine_name_is_claimed references principal_names (name),
  added_at timestamptz not null,
  constraint group_members_one_member check (num_nonnulls(user_id, engine_name) = 1)
);

comment on table group_members is 'Accounts and engine principals in groups, now. The audit trail says since when and by whom.';

-- Two nulls of user_id are different here.
create unique index group_members_users on group_members (group_id, user_id);
create unique index group_members_engine_principals on group_members (group_id, engine_name) where engine_name is not null;
create index group_members_by_user on group_members (user_id);
create index group_members_by_engine_principal on group_members (engine_name) where engine_name is not null;

create function privileges_on(node_kind text) returns text[] language sql immutable parallel safe
return case
  when node_kind in ('everything', 'catalog', 'schema') then array[
    'SELECT', 'INSERT', 'DELETE', 'UPDATE', 'SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT',
    'EXECUTE_FUNCTION', 'GRANT_EXECUTE_FUNCTION', 'CALL_PROCEDURE'
  ]
  when node_kind = 'table' then array['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT']
  when node_kind = 'routine' then array['EXECUTE_FUNCTION', 'GRANT_EXECUTE_FUNCTION', 'CALL_PROCEDURE']
  when node_kind = 'engine' then array['EXECUTE_QUERIES', 'VIEW_QUERIES', 'KILL_QUERIES', 'READ_SYSTEM_INFORMATION', 'WRITE_SYSTEM_INFORMATION']
  when node_kind = 'queries' then array['VIEW_QUERIES', 'KILL_QUERIES']
  when node_kind = 'acting' then array['IMPERSONATE']
  else array[]::text[]
end;

comment on function privileges_on(text) is 'What can be granted and denied on a kind of node: the table of src/trino-rules/model/privilege.ts, which a spec compares with it.';

create function node_level(node_kind text, schema_name text, table_name text) returns text language sql immutable parallel safe
return case
  when node_kind <> 'tree' then node_kind
  when table_name is not null then 'table'
  when schema_name is not null then 'schema'
  else 'catalog'
end;

comment on function node_level(text, text, text) is 'The kind of a node as the model names it: of a node of the tree, its deepest level.';

-- Of the engine's own catalog, its tables are read by a grant, and its one procedure is called by one.
create function is_open_in_system(node_kind text, schema_name text, table_name text, privileges text[]) returns boolean
language sql immutable parallel safe
return case node_kind
  when 'tree' then (schema_name is null or schema_name in ('jdbc', 'metadata', 'runtime')) and privileges = array['SELECT']
  when 'routine' then schema_name = 'runtime' and table_name = 'kill_query' and privileges = array['CALL_PROCEDURE']
  else false
end;

comment on function is_open_in_system(text, text, text, text[]) is 'What can be granted and denied in the catalog system: see closedProblem and privilegesOn in src/trino-rules/model.';

create table grants (
  id integer generated always as identity constraint grants_pkey primary key,
  is_for_everyone boolean not null default false,
  user_id integer constraint grants_user_exists references users (id),
  group_id integer constraint grants_group_exists references groups (id),
  engine_name text constraint grants_engine_name_is_claimed references principal_names (name),
  node_kind text not null default 'tree'
    constraint grants_node_kind_known check (node_kind in ('everything', 'tree', 'routine', 'engine', 'queries', 'acting')),
  catalog_name text,
  schema_name text,
  table_name text,
  as_user_id integer constraint grants_as_user_exists references users (id),
  as_group_id integer constraint grants_as_group_exists references groups (id),
  as_engine_name text constraint grants_as_engine_name_is_claimed references principal_names (name),
  is_as_everyone boolean not null default false,
  privileges text[] not null,
  expires_at timestamptz,
  description text,
  granted_by integer constraint grants_giver_exists references users (id),
  granted_at timestamptz not null,
  revoked_by integer constraint grants_revoker_exists references users (id),
  revoked_at timestamptz,
  constraint grants_one_principal check (num_nonnulls(user_id, group_id, engine_name) + is_for_everyone::integer = 1),
  constraint grants_table_has_schema check (table_name is null or schema_name is not null),
  constraint grants_catalog_of_kind check ((catalog_name is not null) = (node_kind in ('tree', 'routine'))),
  constraint grants_names_of_kind check (
    case when catalog_name is null then num_nonnulls(schema_name, table_name) = 0 else node_kind <> 'routine' or table_name is not null end
  ),
  constraint grants_acting_of_kind check (
    num_nonnulls(as_user_id, as_group_id, as_engine_name) + is_as_everyone::integer = (node_kind in ('queries', 'acting'))::integer
  ),
  constraint grants_privileges_known check (
    cardinality(privileges) > 0 and privileges <@ privileges_on(node_level(node_kind, schema_name, table_name))
  ),
  -- Shutting nodes down is nobody's as a member of a group.
  constraint grants_held_by_name check (
    not privileges @> array['WRITE_SYSTEM_INFORMATION'] or num_nonnulls(user_id, engine_name) = 1
  ),
  -- People do not become other people.
  constraint grants_acting_held_by_engine_principals check (node_kind <> 'acting' or engine_name is not null),
  constraint grants_in_system check (
    catalog_name <> 'system' or is_open_in_system(node_kind, schema_name, table_name, privileges)
  )
);

comment on table grants is 'Who may do what on which node and everything below it. Never changed but by revoking; revoked and expired rows stay.';
comment on column grants.engine_name is 'An engine principal: a literal name on the engine that is no account.';
comment on column grants.node_kind is 'everything: all data catalogs; tree: a catalog, a schema or a table, by its names; routine: a function or a procedure; engine: the engine itself; queries: the queries of those, and acting: acting as those, whom the columns as_… say.';
comment on column grants.table_name is 'Of a routine, its name.';
comment on column grants.privileges is 'In the engine''s own order, each once, so that equal sets are equal arrays.';
comment on column grants.granted_by is 'Null: granted on the command line.';

-- Granting is idempotent, also under races. coalesce, because PostgreSQL 14 takes two nulls for different.
create unique index grants_one_live on grants (
  coalesce(user_id, 0), coalesce(group_id, 0), coalesce(engine_name, ''),
  catalog_name, coalesce(schema_name, ''), coalesce(table_name, ''),
  privileges, coalesce(expires_at, 'infinity')
) where revoked_at is null;
-- Beside grants_one_live, which takes two nulls of catalog_name for different.
create unique index grants_one_live_without_catalog on grants (
  coalesce(user_id, 0), coalesce(group_id, 0), coalesce(engine_name, ''),
  node_kind, coalesce(as_user_id, 0), coalesce(as_group_id, 0), coalesce(as_engine_name, ''),
  privileges, coalesce(expires_at, 'infinity')
) where revoked_at is null and catalog_name is null;
create index grants_of_user on grants (user_id, id) where user_id is not null;
create index grants_of_group on grants (group_id, id) where group_id is not null;
create index grants_of_engine_principal on grants (engine_name, id) where engine_name is not null;
create index grants_for_everyone on grants (id) where is_for_everyone;
create index grants_as_group on grants (as_group_id) where as_group_id is not null;
create index grants_on_node on grants (catalog_name, schema_name, table_name, id);
create index grants_by_expiry on grants (expires_at) where revoked_at is null and expires_at is not null;

create table policies (
  id integer generated always as identity constraint policies_pkey primary key,
  kind text not null,
  is_for_everyone boolean not null,
  user_id integer constraint policies_user_exists references users (id),
  group_id integer constraint policies_group_exists references groups (id),
  engine_name text constraint policies_engine_name_is_claimed references principal_names (name),
  node_kind text not null default 'tree'
    constraint policies_node_kind_known check (node_kind in ('everything', 'tree', 'routine', 'engine', 'queries', 'acting')),
  catalog_name text,
  schema_name text,
  table_name text,
  column_name text,
  as_user_id integer constraint policies_as_user_exists references users (id),
  as_group_id integer constraint policies_as_group_exists references groups (id),
  as_engine_name text constraint policies_as_engine_name_is_claimed references principal_names (name),
  is_as_everyone boolean not null default false,
  expression text,
  privileges text[],
  description text,
  created_at timestamptz not null,
  changed_at timestamptz not null,
  removed_at timestamptz,
  constraint policies_one_subject check (num_nonnulls(user_id, group_id, engine_name) = case when is_for_everyone then 0 else 1 end),
  constraint policies_table_has_schema check (table_name is null or schema_name is not null),
  constraint policies_catalog_of_kind check ((catalog_name is not null) = (node_kind in ('tree', 'routine'))),
  constraint policies_names_of_kind check (
    case when catalog_name is null then num_nonnulls(schema_name, table_name) = 0 else node_kind <> 'routine' or table_name is not null end
  ),
  constraint policies_acting_of_kind check (
    num_nonnulls(as_user_id, as_group_id, as_engine_name) + is_as_everyone::integer = (node_kind in ('queries', 'acting'))::integer
  ),
  constraint policies_parts_of_kind check (
    case kind
      when 'row_filter' then column_name is null and expression is not null and privileges is null and node_kind in ('everything', 'tree')
      when 'column_mask' then column_name is not null and expression is not null and privileges is null and node_kind in ('everything', 'tree')
      when 'hidden_column' then column_name is not null and expression is null and privileges is null and node_kind in ('everything', 'tree')
      when 'deny' then column_name is null and expression is null and cardinality(privileges) > 0
        and privileges <@ privileges_on(node_level(node_kind, schema_name, table_name))
      else false
    end
  ),
  constraint policies_in_system check (
    catalog_name <> 'system' or (kind = 'deny' and is_open_in_system(node_kind, schema_name, table_name, privileges))
  )
);

comment on table policies is 'What takes away: row filters, column masks, hidden columns, denies. Changed in place, in one step, so that nothing is open in between; a removed one keeps its row. The audit trail holds who and what before.';
comment on column policies.node_kind is 'As of grants. Only a deny stands beside the data: on a routine, on the engine, on queries, on acting as others.';
comment on column policies.table_name is 'Of a routine, its name.';

create index policies_by_group on policies (group_id) where group_id is not null;
create index policies_as_group on policies (as_group_id) where as_group_id is not null;
create index policies_on_node on policies (catalog_name, schema_name, table_name, id);

create table policy_exceptions (
  policy_id integer not null constraint policy_exceptions_policy_exists references policies (id),
  user_id integer constraint policy_exceptions_user_exists references users (id),
  group_id integer constraint policy_exceptions_group_exists references groups (id),
  engine_name text constraint policy_exceptions_engine_name_is_claimed references principal_names (name),
  constraint policy_exceptions_one_principal check (num_nonnulls(user_id, group_id, engine_name) = 1)
);

comment on table policy_exceptions is 'Whom a policy leaves alone.';

create unique index policy_exceptions_once on policy_exceptions (
  policy_id, coalesce(user_id, 0), coalesce(group_id, 0), coalesce(engine_name, '')
);
create index policy_exceptions_by_group on policy_exceptions (group_id) where group_id is not null;
