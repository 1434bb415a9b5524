-- People do not become other people. Nothing could be granted on acting as others before.
alter table grants add constraint grants_acting_held_by_engine_principals check (node_kind <> 'acting' or engine_name is not null);
