-- lower() folds letters beyond ASCII by the locale of the database, which may be C. A PostgreSQL without ICU can do no better.
do $$
begin
  perform lower('Ä' collate "und-x-icu");
  create function caseless(text) returns text language sql immutable parallel safe return lower($1 collate "und-x-icu");
exception when undefined_object or feature_not_supported then
  create function caseless(text) returns text language sql immutable parallel safe return lower($1);
end $$;

comment on function caseless(text) is 'A text in lower case, for searches. Not for indexes: what it gives depends on the version of ICU.';
