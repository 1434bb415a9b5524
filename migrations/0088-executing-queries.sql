-- Additive: the version before reads and writes what it knows as before, until it is granted.

create or replace function privileges_on(node_kind text) returns text[] language sql immutable parallel safe
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
