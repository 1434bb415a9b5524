-- Of the engine's own catalog, its tables are read by a grant, and nothing else is given there. Additive: the version before writes nothing there.
alter table grants add constraint grants_in_system check (
  catalog_name <> 'system'
  or (
    node_kind = 'tree' and table_name is null and (schema_name is null or schema_name in ('jdbc', 'metadata', 'runtime'))
    and privileges = array['SELECT']
  )
);

alter table policies add constraint policies_in_system check (
  catalog_name <> 'system'
  or (
    kind = 'deny' and node_kind = 'tree' and table_name is null
    and (schema_name is null or schema_name in ('jdbc', 'metadata', 'runtime')) and privileges = array['SELECT']
  )
);
