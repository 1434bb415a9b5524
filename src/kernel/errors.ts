/** An error with the name of its class. */
export class NamedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** All public error codes, each with its HTTP status. Codes are stable; the default texts may change. */
export const ERRORS = {
  bad_request: { status: 400, text: 'Bad request' },
  malformed_json: { status: 400, text: 'Malformed JSON' },
  logout_token_invalid: { status: 400, text: 'Logout token invalid' },
  validation_failed: { status: 400, text: 'Validation failed' },
  token_missing: { status: 401, text: 'Access token missing' },
  token_invalid: { status: 401, text: 'Token invalid' },
  token_superseded: { status: 401, text: 'Token exchanged a moment ago' },
  token_expired: { status: 401, text: 'Token expired' },
  token_wrong_audience: { status: 401, text: 'Token for another audience' },
  token_used: { status: 401, text: 'Token used before' },
  token_without_subject: { status: 401, text: 'Token without a subject' },
  clocks_differ: { status: 401, text: 'Token of the future' },
  invalid_credentials: { status: 401, text: 'Invalid credentials' },
  code_invalid: { status: 401, text: 'Sign-in code invalid' },
  account_deactivated: { status: 403, text: 'Account deactivated' },
  token_of_program: { status: 403, text: 'Token of a program' },
  name_missing: { status: 403, text: 'Name missing' },
  name_invalid: { status: 403, text: 'Name invalid' },
  account_missing: { status: 403, text: 'Account missing' },
  registration_closed: { status: 403, text: 'Registration closed' },
  password_sign_in_disabled: { status: 403, text: 'Password sign-in disabled' },
  password_change_required: { status: 403, text: 'Password change required' },
  insufficient_scope: { status: 403, text: 'The API token does not open this' },
  administrator_required: { status: 403, text: 'Administrator required' },
  impersonation_disabled: { status: 403, text: 'Impersonation disabled' },
  cross_site: { status: 403, text: 'Request of another site' },
  reauthentication_required: { status: 403, text: 'Confirm with the password, or at the identity provider' },
  engine_forbidden: { status: 403, text: 'The query engine does not admit this service' },
  not_found: { status: 404, text: 'Not found' },
  method_not_allowed: { status: 405, text: 'Method not allowed' },
  username_taken: { status: 409, text: 'Username taken' },
  email_taken: { status: 409, text: 'E-mail taken' },
  name_taken: { status: 409, text: 'Name taken' },
  name_in_use: { status: 409, text: 'Name in use' },
  account_has_password: { status: 409, text: 'Account has a password' },
  already_linked: { status: 409, text: 'Already linked' },
  last_way_in: { status: 409, text: 'Last way to sign in' },
  last_administrator: { status: 409, text: 'Last administrator' },
  group_in_use: { status: 409, text: 'Group in use' },
  managed_elsewhere: { status: 409, text: 'Managed by the identity provider' },
  guarantee_broken: { status: 409, text: 'A guarantee would be broken' },
  mask_conflict: { status: 409, text: 'Two masks on one column' },
  rules_too_large: { status: 409, text: 'Rules would not fit their target' },
  rules_unprovable: { status: 409, text: 'Rules could not be proved' },
  approval_not_awaited: { status: 409, text: 'No such change waits for an approval' },
  sync_in_progress: { status: 409, text: 'Sync in progress' },
  decision_logs_off: { status: 409, text: 'Decision logs are off' },
  query_failed: { status: 409, text: 'Query failed' },
  query_cancelled: { status: 409, text: 'Query cancelled' },
  page_gone: { status: 410, text: 'Page gone' },
  precondition_failed: { status: 412, text: 'The resource was changed meanwhile' },
  payload_too_large: { status: 413, text: 'Payload too large' },
  unsupported_media_type: { status: 415, text: 'Unsupported media type' },
  too_many_requests: { status: 429, text: 'Too many requests' },
  too_many_tokens: { status: 409, text: 'Too many API tokens' },
  too_many_queries: { status: 429, text: 'Too many queries' },
  too_many_unread_rows: { status: 429, text: 'Too many unread rows' },
  busy: { status: 503, text: 'Busy' },
  engine_unavailable: { status: 503, text: 'Query engine unavailable' },
  provider_unavailable: { status: 503, text: 'Identity provider unavailable' },
  target_unavailable: { status: 503, text: 'Rules target unavailable' },
  no_publication: { status: 503, text: 'Nothing is published yet' },
  database_unavailable: { status: 503, text: 'Database unavailable' },
  internal_error: { status: 500, text: 'Internal error' },
  not_implemented: { status: 501, text: 'Not implemented' },
} as const satisfies Record<string, { status: number; text: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** A problem of one field; `field` is a dotted path in the body or the query. */
export interface FieldError {
  field: string;
  message: string;
  /** The broken guarantee; only for the code `guarantee_broken`. */
  guarantee?: { id: number; name: string };
  /** An access that breaks the guarantee; only for the code `guarantee_broken`. */
  witness?: object;
}

/** A limit that was reached, for the `RateLimit` headers. */
export interface Quota {
  name: string;
  /** The most requests in a window. */
  limit: number;
  windowSeconds: number;
}

/** A limit on concurrent items, such as running queries. */
export type ConcurrencyQuota = Omit<Quota, 'windowSeconds'>;

export interface RefusalDetails {
  /** Public: one sentence that the user can act on. No secrets, no data of other users. */
  detail?: string;
  errors?: FieldError[];
  /** Value of `Retry-After`, in seconds. */
  retryAfter?: number;
  quota?: Quota | ConcurrencyQuota;
  /** Media types of accepted bodies, for `Accept`. Default: JSON. */
  mediaTypes?: readonly string[];
  /** Public: extension members of the problem document (RFC 9457 section 3.2). */
  members?: Record<string, unknown>;
  /** Private: one word of a closed set, logged with the request, never sent. */
  reason?: string;
  /** Private: logged, never sent. */
  cause?: unknown;
}

/** Refuses a request with one of these codes. Any other error is an `internal_error`. */
export class Refused extends NamedError {
  constructor(
    readonly code: ErrorCode,
    readonly details: RefusalDetails = {},
  ) {
    super(details.detail ?? ERRORS[code].text, { cause: details.cause });
  }
}

/** Returns the value. @throws Refused `not_found` for null */
export function orNotFound<T>(value: T | null): T {
  if (value === null) throw new Refused('not_found');
  return value;
}
