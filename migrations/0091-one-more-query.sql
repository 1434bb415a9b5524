-- Additive. A count of its own statement sees what those before it in the queue have inserted; within the INSERT it would not.

create function may_run_one_more(of_user integer, most_alive integer) returns boolean language plpgsql volatile as $$
begin
  -- One user's submissions one after the other, so that each counts those before it.
  perform pg_advisory_xact_lock(hashtext('queries'), of_user);
  return (select count(*) from queries where user_id = of_user and state in ('queued', 'running')) < most_alive;
end
$$;
