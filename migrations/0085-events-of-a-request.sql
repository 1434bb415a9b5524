-- All events of one request are asked for together.
create index audit_events_by_request on audit_events (request_id, id) where request_id is not null;
