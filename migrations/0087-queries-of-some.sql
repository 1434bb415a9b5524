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
  when node_kind = 'queries' then array['VIEW_QUERIES', 'KILL_QUERIES']
  when node_kind = 'acting' then array['IMPERSONATE']
  else array[]::text[]
end;

alter table grants
  drop constraint grants_node_kind_known,
  drop constraint grants_acting_of_kind,
  add constraint grants_node_kind_known check (node_kind in ('everything', 'tree', 'routine', 'engine', 'queries', 'acting')),
  add constraint grants_acting_of_kind check (
    num_nonnulls(as_user_id, as_group_id, as_engine_name) + is_as_everyone::integer = (node_kind in ('queries', 'acting'))::integer
  );

comment on column grants.node_kind is 'everything: all data catalogs; tree: a catalog, a schema or a table, by its names; routine: a function or a procedure; engine: the engine itself; queries: the queries of those, and acting: acting as those, whom the columns as_… say.';

alter table policies
  drop constraint policies_node_kind_known,
  drop constraint policies_acting_of_kind,
  add constraint policies_node_kind_known check (node_kind in ('everything', 'tree', 'routine', 'engine', 'queries', 'acting')),
  add constraint policies_acting_of_kind check (
    num_nonnulls(as_user_id, as_group_id, as_engine_name) + is_as_everyone::integer = (node_kind in ('queries', 'acting'))::integer
  );

comment on column policies.node_kind is 'As of grants. Only a deny stands beside the data: on a routine, on the engine, on queries, on acting as others.';
