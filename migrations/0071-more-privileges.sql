-- Ownership of schemas and of tables apart, routines, the engine, and acting as others.
alter table grants drop constraint grants_privileges_known;
alter table grants add constraint grants_privileges_known check (
  cardinality(privileges) > 0
  and privileges <@ array[
    'SELECT', 'INSERT', 'DELETE', 'UPDATE', 'SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT',
    'EXECUTE_FUNCTION', 'CALL_PROCEDURE',
    'VIEW_QUERIES', 'KILL_QUERIES', 'READ_SYSTEM_INFORMATION', 'WRITE_SYSTEM_INFORMATION', 'IMPERSONATE'
  ]
);

alter table policies drop constraint policies_parts_of_kind;
alter table policies add constraint policies_parts_of_kind check (
  case kind
    when 'row_filter' then column_name is null and expression is not null and privileges is null
    when 'column_mask' then column_name is not null and expression is not null and privileges is null
    when 'hidden_column' then column_name is not null and expression is null and privileges is null
    when 'deny' then column_name is null and expression is null and cardinality(privileges) > 0
      and privileges <@ array[
        'SELECT', 'INSERT', 'DELETE', 'UPDATE', 'SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP', 'OWNERSHIP', 'GRANT_SELECT',
        'EXECUTE_FUNCTION', 'CALL_PROCEDURE',
        'VIEW_QUERIES', 'KILL_QUERIES', 'READ_SYSTEM_INFORMATION', 'WRITE_SYSTEM_INFORMATION', 'IMPERSONATE'
      ]
    else false
  end
);
