-- An engine principal that nothing live names can be respelled. Its ended grants and removed policies follow.
alter table group_members
  drop constraint group_members_engine_name_is_claimed,
  add constraint group_members_engine_name_is_claimed foreign key (engine_name) references principal_names (name) on update cascade;
alter table grants
  drop constraint grants_engine_name_is_claimed,
  drop constraint grants_as_engine_name_is_claimed,
  add constraint grants_engine_name_is_claimed foreign key (engine_name) references principal_names (name) on update cascade,
  add constraint grants_as_engine_name_is_claimed foreign key (as_engine_name) references principal_names (name) on update cascade;
alter table policies
  drop constraint policies_engine_name_is_claimed,
  drop constraint policies_as_engine_name_is_claimed,
  add constraint policies_engine_name_is_claimed foreign key (engine_name) references principal_names (name) on update cascade,
  add constraint policies_as_engine_name_is_claimed foreign key (as_engine_name) references principal_names (name) on update cascade;
alter table policy_exceptions
  drop constraint policy_exceptions_engine_name_is_claimed,
  add constraint policy_exceptions_engine_name_is_claimed foreign key (engine_name) references principal_names (name) on update cascade;

create function is_engine_name_used(name text, moment timestamptz) returns boolean language sql stable parallel safe
return exists (select from group_members m where m.engine_name = is_engine_name_used.name)
  or exists (
    select from grants g where is_engine_name_used.name in (g.engine_name, g.as_engine_name)
      and g.revoked_at is null and (g.expires_at is null or g.expires_at > moment))
  or exists (
    select from policies p where p.removed_at is null and (
      is_engine_name_used.name in (p.engine_name, p.as_engine_name)
      or exists (select from policy_exceptions e where e.policy_id = p.id and e.engine_name = is_engine_name_used.name)))
  or exists (
    select from guarantees u where u.removed_at is null and jsonb_path_exists(
      u.definition, '$.** ? (@.type == "engine" && @.name == $name)', jsonb_build_object('name', is_engine_name_used.name)));

comment on function is_engine_name_used(text, timestamptz) is 'Whether a group, a live grant, a policy or a guarantee names an engine principal. If none does, its spelling can change.';
