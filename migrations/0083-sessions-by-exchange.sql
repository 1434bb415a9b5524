alter table oidc_sessions alter column id_token drop not null;

comment on column oidc_sessions.id_token is 'Sealed. Null: it began with a token of another client''s, by which nobody signs out at the provider.';
