alter table api_tokens add column revoked_at timestamptz;

comment on table api_tokens is 'Tokens of programs, which act for an account. Revoked ones are kept until they would have expired, so that revoking twice is told from revoking what never was.';
comment on column api_tokens.revoked_at is 'Null: it is good until it expires.';
