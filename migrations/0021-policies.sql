create table policies (
  id integer generated always as identity constraint policies_pkey primary key,
  kind text not null,
  is_for_everyone boolean not null,
  user_id integer constraint policies_user_exists references users (id),
  group_id integer constraint policies_group_exists references groups (id),
  engine_name text constraint policies_engine_name_is_claimed references principal_names (name),
  catalog_name text not null,
  schema_name text,
  table_name text,
  column_name text,
  expression text,
  privileges text[],
  description text,
  created_at timestamptz not null,
  changed_at timestamptz not null,
  removed_at timestamptz,
  constraint policies_one_subject check (num_nonnulls(user_id, group_id, engine_name) = case when is_for_everyone then 0 else 1 end),
  constraint policies_table_has_schema check (table_name is null or schema_name is not null),
  constraint policies_parts_of_kind check (
    case kind
      when 'row_filter' then column_name is null and expression is not null and privileges is null
      when 'column_mask' then column_name is not null and expression is not null and privileges is null
      when 'hidden_column' then column_name is not null and expression is null and privileges is null
      when 'deny' then column_name is null and expression is null and cardinality(privileges) > 0
        and privileges <@ array['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP', 'GRANT_SELECT']
      else false
    end
  )
);

comment on table policies is 'What takes away: row filters, column masks, hidden columns, denies. Changed in place, in one step, so that nothing is open in between; a removed one keeps its row. The audit trail holds who and what before.';

create index policies_by_group on policies (group_id) where group_id is not null;
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
