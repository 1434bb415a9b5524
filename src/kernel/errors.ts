/** What kind of refusal a code is. platform/problem.ts maps every kind to one HTTP status. */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not-found'
  | 'method-not-allowed'
  | 'conflict'
  | 'gone'
  | 'too-large'
  | 'unsupported-media-type'
  | 'too-many'
  | 'busy'
  | 'unavailable'
  | 'internal';

/** Every code that a client can meet, with its kind and its title. Codes are stable; the texts may change. */
export const ERRORS = {
  bad_request: { kind: 'invalid', title: 'Bad request' },
  malformed_json: { kind: 'invalid', title: 'Malformed JSON' },
  validation_failed: { kind: 'invalid', title: 'Validation failed' },
  token_missing: { kind: 'unauthenticated', title: 'Access token missing' },
  token_invalid: { kind: 'unauthenticated', title: 'Token invalid' },
  token_expired: { kind: 'unauthenticated', title: 'Token expired' },
  invalid_credentials: { kind: 'unauthenticated', title: 'Invalid credentials' },
  account_deactivated: { kind: 'forbidden', title: 'Account deactivated' },
  registration_closed: { kind: 'forbidden', title: 'Registration closed' },
  password_change_required: { kind: 'forbidden', title: 'Password change required' },
  administrator_required: { kind: 'forbidden', title: 'Administrator required' },
  impersonation_disabled: { kind: 'forbidden', title: 'Impersonation disabled' },
  not_found: { kind: 'not-found', title: 'Not found' },
  method_not_allowed: { kind: 'method-not-allowed', title: 'Method not allowed' },
  username_taken: { kind: 'conflict', title: 'Username taken' },
  email_taken: { kind: 'conflict', title: 'E-mail taken' },
  name_taken: { kind: 'conflict', title: 'Name taken' },
  last_administrator: { kind: 'conflict', title: 'Last administrator' },
  group_in_use: { kind: 'conflict', title: 'Group in use' },
  mask_conflict: { kind: 'conflict', title: 'Two masks on one column' },
  rules_too_large: { kind: 'conflict', title: 'Rules would not fit their target' },
  approval_not_awaited: { kind: 'conflict', title: 'No such text waits for an approval' },
  sync_in_progress: { kind: 'conflict', title: 'Sync in progress' },
  query_failed: { kind: 'conflict', title: 'Query failed' },
  query_cancelled: { kind: 'conflict', title: 'Query cancelled' },
  page_gone: { kind: 'gone', title: 'Page gone' },
  payload_too_large: { kind: 'too-large', title: 'Payload too large' },
  unsupported_media_type: { kind: 'unsupported-media-type', title: 'Unsupported media type' },
  too_many_requests: { kind: 'too-many', title: 'Too many requests' },
  too_many_queries: { kind: 'too-many', title: 'Too many queries' },
  busy: { kind: 'busy', title: 'Busy' },
  engine_unavailable: { kind: 'unavailable', title: 'Query engine unavailable' },
  target_unavailable: { kind: 'unavailable', title: 'Rules target unavailable' },
  database_unavailable: { kind: 'unavailable', title: 'Database unavailable' },
  internal_error: { kind: 'internal', title: 'Internal error' },
} as const satisfies Record<string, { kind: ErrorKind; title: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** One thing that is wrong with one field; `field` is a dotted path in the body or the query. */
export interface FieldError {
  field: string;
  message: string;
}

/** A limit that was reached, as the `RateLimit` headers say it. */
export interface Quota {
  name: string;
  /** So many in so many seconds. */
  limit: number;
  windowSeconds: number;
}

export interface RefusalDetails {
  /** Public: one sentence that the client's user can act on. Never a secret, never another person's data. */
  detail?: string;
  errors?: FieldError[];
  /** Seconds, for `Retry-After`. */
  retryAfter?: number;
  quota?: Quota;
  /** Further public members of the problem document (RFC 9457 section 3.2). */
  members?: Record<string, unknown>;
  /** Private: logged, never sent. */
  cause?: unknown;
}

/** A request that is refused for a reason on the list. Anything else that is thrown is an `internal_error`. */
export class Refused extends Error {
  readonly detail: string | undefined;
  readonly errors: FieldError[] | undefined;
  readonly retryAfter: number | undefined;
  readonly quota: Quota | undefined;
  readonly members: Record<string, unknown> | undefined;

  constructor(
    readonly code: ErrorCode,
    details: RefusalDetails = {},
  ) {
    super(details.detail ?? ERRORS[code].title, { cause: details.cause });
    this.name = 'Refused';
    this.detail = details.detail;
    this.errors = details.errors;
    this.retryAfter = details.retryAfter;
    this.quota = details.quota;
    this.members = details.members;
  }
}
