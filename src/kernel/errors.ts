/** An error with the name of its class. */
export class NamedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The kind of an error code. platform/http/problem.ts maps every kind to one HTTP status. */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not-found'
  | 'method-not-allowed'
  | 'conflict'
  | 'gone'
  | 'precondition-failed'
  | 'too-large'
  | 'unsupported-media-type'
  | 'too-many'
  | 'busy'
  | 'unavailable'
  | 'internal'
  | 'not-implemented';

/** Every public error code, with its kind and default text. Codes are stable; the texts may change. */
export const ERRORS = {
  bad_request: { kind: 'invalid', text: 'Bad request' },
  malformed_json: { kind: 'invalid', text: 'Malformed JSON' },
  logout_token_invalid: { kind: 'invalid', text: 'Logout token invalid' },
  validation_failed: { kind: 'invalid', text: 'Validation failed' },
  token_missing: { kind: 'unauthenticated', text: 'Access token missing' },
  token_invalid: { kind: 'unauthenticated', text: 'Token invalid' },
  token_superseded: { kind: 'unauthenticated', text: 'Token exchanged a moment ago' },
  token_expired: { kind: 'unauthenticated', text: 'Token expired' },
  token_wrong_audience: { kind: 'unauthenticated', text: 'Token for another audience' },
  token_used: { kind: 'unauthenticated', text: 'Token used before' },
  token_without_subject: { kind: 'unauthenticated', text: 'Token without a subject' },
  clocks_differ: { kind: 'unauthenticated', text: 'Token of the future' },
  invalid_credentials: { kind: 'unauthenticated', text: 'Invalid credentials' },
  code_invalid: { kind: 'unauthenticated', text: 'Sign-in code invalid' },
  account_deactivated: { kind: 'forbidden', text: 'Account deactivated' },
  token_of_program: { kind: 'forbidden', text: 'Token of a program' },
  name_missing: { kind: 'forbidden', text: 'Name missing' },
  name_invalid: { kind: 'forbidden', text: 'Name invalid' },
  account_missing: { kind: 'forbidden', text: 'Account missing' },
  registration_closed: { kind: 'forbidden', text: 'Registration closed' },
  password_sign_in_disabled: { kind: 'forbidden', text: 'Password sign-in disabled' },
  password_change_required: { kind: 'forbidden', text: 'Password change required' },
  insufficient_scope: { kind: 'forbidden', text: 'The API token does not open this' },
  administrator_required: { kind: 'forbidden', text: 'Administrator required' },
  impersonation_disabled: { kind: 'forbidden', text: 'Impersonation disabled' },
  cross_site: { kind: 'forbidden', text: 'Request of another site' },
  reauthentication_required: { kind: 'forbidden', text: 'Confirm with the password, or at the identity provider' },
  engine_forbidden: { kind: 'forbidden', text: 'The query engine does not admit this service' },
  not_found: { kind: 'not-found', text: 'Not found' },
  method_not_allowed: { kind: 'method-not-allowed', text: 'Method not allowed' },
  username_taken: { kind: 'conflict', text: 'Username taken' },
  email_taken: { kind: 'conflict', text: 'E-mail taken' },
  name_taken: { kind: 'conflict', text: 'Name taken' },
  name_in_use: { kind: 'conflict', text: 'Name in use' },
  account_has_password: { kind: 'conflict', text: 'Account has a password' },
  already_linked: { kind: 'conflict', text: 'Already linked' },
  last_way_in: { kind: 'conflict', text: 'Last way to sign in' },
  last_administrator: { kind: 'conflict', text: 'Last administrator' },
  group_in_use: { kind: 'conflict', text: 'Group in use' },
  managed_elsewhere: { kind: 'conflict', text: 'Managed by the identity provider' },
  guarantee_broken: { kind: 'conflict', text: 'A guarantee would be broken' },
  mask_conflict: { kind: 'conflict', text: 'Two masks on one column' },
  rules_too_large: { kind: 'conflict', text: 'Rules would not fit their target' },
  rules_unprovable: { kind: 'conflict', text: 'Rules could not be proved' },
  approval_not_awaited: { kind: 'conflict', text: 'No such text waits for an approval' },
  sync_in_progress: { kind: 'conflict', text: 'Sync in progress' },
  query_failed: { kind: 'conflict', text: 'Query failed' },
  query_cancelled: { kind: 'conflict', text: 'Query cancelled' },
  page_gone: { kind: 'gone', text: 'Page gone' },
  precondition_failed: { kind: 'precondition-failed', text: 'The resource was changed meanwhile' },
  payload_too_large: { kind: 'too-large', text: 'Payload too large' },
  unsupported_media_type: { kind: 'unsupported-media-type', text: 'Unsupported media type' },
  too_many_requests: { kind: 'too-many', text: 'Too many requests' },
  too_many_tokens: { kind: 'conflict', text: 'Too many API tokens' },
  too_many_queries: { kind: 'too-many', text: 'Too many queries' },
  too_many_unread_rows: { kind: 'too-many', text: 'Too many unread rows' },
  busy: { kind: 'busy', text: 'Busy' },
  engine_unavailable: { kind: 'unavailable', text: 'Query engine unavailable' },
  provider_unavailable: { kind: 'unavailable', text: 'Identity provider unavailable' },
  target_unavailable: { kind: 'unavailable', text: 'Rules target unavailable' },
  database_unavailable: { kind: 'unavailable', text: 'Database unavailable' },
  internal_error: { kind: 'internal', text: 'Internal error' },
  not_implemented: { kind: 'not-implemented', text: 'Not implemented' },
} as const satisfies Record<string, { kind: ErrorKind; text: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** A problem of one field; `field` is a dotted path in the body or the query. */
export interface FieldError {
  field: string;
  message: string;
  /** Only for `guarantee_broken`: the broken guarantee. */
  guarantee?: { id: number; name: string };
  witness?: object;
}

/** A limit that was reached, for the `RateLimit` headers. */
export interface Quota {
  name: string;
  /** Requests in a window. */
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
  /** Further public members of the problem document (RFC 9457 section 3.2). */
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
