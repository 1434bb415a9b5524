-- Three columns in this order: rate-limiter-flexible inserts without naming them.
create table throttle_counters (
  key text constraint throttle_counters_pkey primary key,
  points integer not null,
  expire bigint
);

comment on table throttle_counters is 'Attempts per (username, client address) and per client address in the window that ends at expire (ms since 1970). Keys hold digests of usernames, not the usernames.';

create index throttle_counters_by_expiry on throttle_counters (expire);
