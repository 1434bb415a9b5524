-- Shutting nodes down is nobody's as a member of a group.
alter table grants add constraint grants_held_by_name check (
  not privileges @> array['WRITE_SYSTEM_INFORMATION'] or num_nonnulls(user_id, engine_name) = 1
);
