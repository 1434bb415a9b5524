create table queries (
  id uuid constraint queries_pkey primary key,
  user_id integer not null constraint queries_user_exists references users (id) on delete cascade,
  run_as text not null,
  state text not null constraint queries_state_known
    check (state in ('queued', 'running', 'finished', 'failed', 'cancelled')),
  sql text not null,
  catalog text,
  schema text,
  trace_token text not null,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  deadline_at timestamptz not null,
  progress_percent double precision,
  engine_query_id text,
  columns jsonb,
  rows_returned bigint not null default 0,
  truncated boolean not null default false,
  update_count numeric,
  error_code text,
  error_message text,
  engine_error_name text,
  error_line integer,
  error_column integer,
  driver uuid,
  lease_until timestamptz,
  next_path text,
  page_path text,
  page_start bigint not null default 0,
  newest_from bigint not null default 0,
  waiting_since timestamptz,
  constraint queries_ended_or_driven check (
    case when state in ('queued', 'running')
      then finished_at is null and driver is not null and lease_until is not null
      else finished_at is not null and driver is null and lease_until is null and next_path is null and page_path is null
    end
  ),
  constraint queries_error_when_not_well check ((error_code is not null) = (state in ('failed', 'cancelled')))
);

comment on table queries is 'People''s statements on the engine. SQL text is kept for QUERY_RETENTION_DAYS; rows of results are never stored.';
comment on column queries.run_as is 'Whom the engine sees: the person''s username as it was when the statement was submitted.';
comment on column queries.driver is 'The replica that asks the engine for the next page; another may take over when lease_until has passed, or when it is asked for rows.';
comment on column queries.next_path is 'Where the engine''s next page is: a capability. Gone as soon as the statement has ended.';
comment on column queries.page_path is 'Where the page that waits for a reader was found; the engine gives the newest page again.';
comment on column queries.page_start is 'How many rows came before that page.';
comment on column queries.newest_from is 'Where the newest page handed out began, counted in rows; rows_returned is where it ended.';
comment on column queries.waiting_since is 'Since when rows have been waiting for a reader; null: none are.';

create index queries_of_user on queries (user_id, created_at desc, id desc);
create index queries_alive_of_user on queries (user_id) where state in ('queued', 'running');
create index queries_by_lease on queries (lease_until) where state in ('queued', 'running');
create index queries_by_end on queries (finished_at) where finished_at is not null;

-- A count of its own statement sees what those before it in the queue have inserted; within the INSERT it would not.
create function may_run_one_more(of_user integer, most_alive integer) returns boolean language plpgsql volatile as $$
begin
  -- One user's submissions one after the other, so that each counts those before it.
  perform pg_advisory_xact_lock(hashtext('queries'), of_user);
  return (select count(*) from queries where user_id = of_user and state in ('queued', 'running')) < most_alive;
end
$$;
