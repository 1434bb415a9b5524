-- Digests of cookies and API tokens are made with a key from now on. Those that were made without it open nothing more.

delete from api_tokens;
delete from sessions where cookie_digest is not null;

comment on column api_tokens.digest is 'HMAC-SHA-256 of the token by a key derived from AUTH_SECRET_KEY; the token itself is stored nowhere.';
comment on column sessions.cookie_digest is 'Of a session of the web console: HMAC-SHA-256 of its cookie by a key derived from AUTH_SECRET_KEY. The cookie itself is stored nowhere. Null: a session with tokens.';
