-- Additive: the version before reads and writes what it knows as before, until something new is granted.

create or replace function privileges_on(node_kind text) returns text[] language sql immutable parallel safe
return case
  when node_kind in ('everything', 'catalog', 'schema') then array[
    'SELECT', 'INSERT', 'DELETE', 'UPDATE', 'SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT',
    'EXECUTE_FUNCTION', 'GRANT_EXECUTE_FUNCTION', 'CALL_PROCEDURE'
  ]
  when node_kind = 'table' then array['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT']
  when node_kind = 'routine' then array['EXECUTE_FUNCTION', 'GRANT_EXECUTE_FUNCTION', 'CALL_PROCEDURE']
  when node_kind = 'engine' then array['VIEW_QUERIES', 'KILL_QUERIES', 'READ_SYSTEM_INFORMATION', 'WRITE_SYSTEM_INFORMATION']
  when node_kind = 'acting' then array['IMPERSONATE']
  else array[]::text[]
end;

-- Of the engine's own catalog, its tables are read by a grant, and its one procedure is called by one.
create function is_open_in_system(node_kind text, schema_name text, table_name text, privileges text[]) returns boolean
language sql immutable parallel safe
return case node_kind
  when 'tree' then (schema_name is null or schema_name in ('jdbc', 'metadata', 'runtime')) and privileges = array['SELECT']
  when 'routine' then schema_name = 'runtime' and table_name = 'kill_query' and privileges = array['CALL_PROCEDURE']
  else false
end;

comment on function is_open_in_system(text, text, text, text[]) is 'What can be granted and denied in the catalog system: see closedProblem and privilegesOn in src/trino-rules/model.';

alter table grants
  drop constraint grants_in_system,
  add constraint grants_in_system check (
    catalog_name <> 'system' or is_open_in_system(node_kind, schema_name, table_name, privileges)
  );

alter table policies
  drop constraint policies_in_system,
  add constraint policies_in_system check (
    catalog_name <> 'system' or (kind = 'deny' and is_open_in_system(node_kind, schema_name, table_name, privileges))
  );
