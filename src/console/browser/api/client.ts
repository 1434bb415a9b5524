import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

export type Schemas = components['schemas'];

/** Client of the service's own API. The browser adds the session's cookie, which no script can read. */
export const api = createClient<paths>({ baseUrl: '' });

/** A failed request: the service answered with an error, or did not answer. */
export class Problem extends Error {
  constructor(
    /** The HTTP status; 0: the service was not reached. */
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly requestId: string | null,
    /** Seconds after which the request can be repeated; null: the service named no time. */
    readonly retryAfter: number | null,
    readonly fieldErrors: readonly { field: string; message: string }[],
  ) {
    super(detail);
  }
}

interface FetchResult<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The body of an answer. @throws Problem */
export async function bodyOf<T>(request: Promise<FetchResult<T>>): Promise<T> {
  return (await versionedBodyOf(request)).body;
}

/** A body with its ETag, which a later change sends as `If-Match`. */
export interface VersionedBody<T> {
  body: T;
  version: string;
}

/** The body of an answer with its version. @throws Problem */
export async function versionedBodyOf<T>(request: Promise<FetchResult<T>>): Promise<VersionedBody<T>> {
  const { response, data, error } = await request.catch(() => {
    throw new Problem(0, 'unreachable', 'The service does not answer.', null, null, []);
  });
  if (response.ok) return { body: data as T, version: response.headers.get('etag') ?? '*' };
  throw problemOf(response, error);
}

function problemOf(response: Response, error: unknown): Problem {
  const body: Partial<Schemas['Problem']> | null = typeof error === 'object' ? error : null;
  return new Problem(
    response.status,
    body?.code ?? 'internal_error',
    body?.detail ?? 'The service could not answer.',
    body?.request_id ?? response.headers.get('x-request-id'),
    Number(response.headers.get('retry-after')) || null,
    body?.errors ?? [],
  );
}

/** Whether an error is a Problem with this code, such as `not_found`, or this HTTP status. */
export function isProblem(error: unknown, codeOrStatus: string | number): boolean {
  return error instanceof Problem && (error.code === codeOrStatus || error.status === codeOrStatus);
}

/** The form field of a path in a request or draft: `principal` for `grant.0.principal`. */
export function formFieldOf(path: string): string {
  return path.replace(/^(grant|revoke|policies\.put|guarantees)\.\d+\.?/, '').split('.')[0] ?? path;
}

export function fieldErrorsOf(error: Error | null): Readonly<Record<string, string>> {
  const fieldErrors = error instanceof Problem ? error.fieldErrors : [];
  return Object.fromEntries(fieldErrors.map(({ field, message }) => [formFieldOf(field), `${message}.`]));
}

let lastRequest: Promise<unknown> = Promise.resolve();

/** Runs slow requests one after the other, because the service refuses a second one of the same person meanwhile. */
export function runInTurn<T>(request: () => Promise<T>): Promise<T> {
  const answer = lastRequest.then(request);
  lastRequest = answer.catch(() => undefined);
  return answer;
}
