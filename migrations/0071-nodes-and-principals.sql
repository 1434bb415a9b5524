-- Additive: the version before reads and writes what it knows as before, until something new is granted.

create function privileges_on(node_kind text) returns text[] language sql immutable parallel safe
return case
  when node_kind in ('everything', 'catalog', 'schema') then array[
    'SELECT', 'INSERT', 'DELETE', 'UPDATE', 'SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT',
    'EXECUTE_FUNCTION', 'CALL_PROCEDURE'
  ]
  when node_kind = 'table' then array['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT']
  when node_kind = 'routine' then array['EXECUTE_FUNCTION', 'CALL_PROCEDURE']
  when node_kind = 'engine' then array['VIEW_QUERIES', 'KILL_QUERIES', 'READ_SYSTEM_INFORMATION', 'WRITE_SYSTEM_INFORMATION']
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

alter table grants
  alter column catalog_name drop not null,
  add column is_for_everyone boolean not null default false,
  add column node_kind text not null default 'tree',
  add column as_user_id integer constraint grants_as_user_exists references users (id),
  add column as_group_id integer constraint grants_as_group_exists references groups (id),
  add column as_engine_name text constraint grants_as_engine_name_is_claimed references principal_names (name),
  add column is_as_everyone boolean not null default false,
  drop constraint grants_one_principal,
  drop constraint grants_privileges_known,
  add constraint grants_one_principal check (num_nonnulls(user_id, group_id, engine_name) + is_for_everyone::integer = 1),
  add constraint grants_node_kind_known check (node_kind in ('everything', 'tree', 'routine', 'engine', 'acting')),
  add constraint grants_catalog_of_kind check ((catalog_name is not null) = (node_kind in ('tree', 'routine'))),
  add constraint grants_names_of_kind check (
    case when catalog_name is null then num_nonnulls(schema_name, table_name) = 0 else node_kind <> 'routine' or table_name is not null end
  ),
  add constraint grants_acting_of_kind check (
    num_nonnulls(as_user_id, as_group_id, as_engine_name) + is_as_everyone::integer = (node_kind = 'acting')::integer
  ),
  add constraint grants_privileges_known check (
    cardinality(privileges) > 0 and privileges <@ privileges_on(node_level(node_kind, schema_name, table_name))
  );

comment on column grants.node_kind is 'everything: all data catalogs; tree: a catalog, a schema or a table, by its names; routine: a function or a procedure; engine: the engine itself; acting: acting as others, whom the columns as_… say.';
comment on column grants.table_name is 'Of a routine, its name.';

-- Beside grants_one_live, which takes two nulls of catalog_name for different.
create unique index grants_one_live_without_catalog on grants (
  coalesce(user_id, 0), coalesce(group_id, 0), coalesce(engine_name, ''),
  node_kind, coalesce(as_user_id, 0), coalesce(as_group_id, 0), coalesce(as_engine_name, ''),
  privileges, coalesce(expires_at, 'infinity')
) where revoked_at is null and catalog_name is null;
create index grants_for_everyone on grants (id) where is_for_everyone;
create index grants_as_group on grants (as_group_id) where as_group_id is not null;

alter table policies
  alter column catalog_name drop not null,
  add column node_kind text not null default 'tree',
  add column as_user_id integer constraint policies_as_user_exists references users (id),
  add column as_group_id integer constraint policies_as_group_exists references groups (id),
  add column as_engine_name text constraint policies_as_engine_name_is_claimed references principal_names (name),
  add column is_as_everyone boolean not null default false,
  drop constraint policies_parts_of_kind,
  add constraint policies_node_kind_known check (node_kind in ('everything', 'tree', 'routine', 'engine', 'acting')),
  add constraint policies_catalog_of_kind check ((catalog_name is not null) = (node_kind in ('tree', 'routine'))),
  add constraint policies_names_of_kind check (
    case when catalog_name is null then num_nonnulls(schema_name, table_name) = 0 else node_kind <> 'routine' or table_name is not null end
  ),
  add constraint policies_acting_of_kind check (
    num_nonnulls(as_user_id, as_group_id, as_engine_name) + is_as_everyone::integer = (node_kind = 'acting')::integer
  ),
  add constraint policies_parts_of_kind check (
    case kind
      when 'row_filter' then column_name is null and expression is not null and privileges is null and node_kind in ('everything', 'tree')
      when 'column_mask' then column_name is not null and expression is not null and privileges is null and node_kind in ('everything', 'tree')
      when 'hidden_column' then column_name is not null and expression is null and privileges is null and node_kind in ('everything', 'tree')
      when 'deny' then column_name is null and expression is null and cardinality(privileges) > 0
        and privileges <@ privileges_on(node_level(node_kind, schema_name, table_name))
      else false
    end
  );

comment on column policies.node_kind is 'As of grants. Only a deny stands beside the data: on a routine, on the engine, on acting as others.';
comment on column policies.table_name is 'Of a routine, its name.';

create index policies_as_group on policies (as_group_id) where as_group_id is not null;

alter table group_members
  add column engine_name text constraint group_members_engine_name_is_claimed references principal_names (name),
  drop constraint group_members_pkey,
  alter column user_id drop not null,
  add constraint group_members_one_member check (num_nonnulls(user_id, engine_name) = 1);

comment on table group_members is 'Accounts and engine principals in groups, now. The audit trail says since when and by whom.';

-- Two nulls of user_id are different here.
create unique index group_members_users on group_members (group_id, user_id);
create unique index group_members_engine_principals on group_members (group_id, engine_name) where engine_name is not null;
create index group_members_by_engine_principal on group_members (engine_name) where engine_name is not null;

comment on table groups is 'Grantline''s own groups of accounts and engine principals. A deleted one keeps its row, because revoked grants still name it; nothing live does.';
