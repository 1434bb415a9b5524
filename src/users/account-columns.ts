/** The columns of `users u` that make an Account: also where a credential is read together with its account, in one query. */
export const ACCOUNT_COLUMNS = `u.id, u.username, u.email, u.role, u.source, u.password_hash IS NOT NULL AS "hasPassword",
  u.is_active AS "isActive", u.created_at AS "createdAt", u.one_time_until AS "oneTimeUntil"`;
