import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

export type Schemas = components['schemas'];

/** Our own API. The browser sends the session's cookie along; no script sees it. */
export const api = createClient<paths>({ baseUrl: '' });

/** A failed request: a problem of the service, or no answer at all. */
export class Problem extends Error {
  constructor(
    /** 0: the service was not reached. */
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly requestId: string | null,
    /** Seconds. */
    readonly retryAfter: number | null,
    readonly fields: readonly { field: string; message: string }[],
  ) {
    super(detail);
  }
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The body of an answer. @throws Problem */
export async function bodyOf<T>(request: Promise<Answer<T>>): Promise<T> {
  return (await versionOf(request)).body;
}

/** An entry with its ETag, for `If-Match`. */
export interface Versioned<T> {
  body: T;
  version: string;
}

/** The body of an answer with its version. @throws Problem */
export async function versionOf<T>(request: Promise<Answer<T>>): Promise<Versioned<T>> {
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

/** @param kind a code, or a status */
export function isProblem(error: unknown, kind: string | number): boolean {
  return error instanceof Problem && (error.code === kind || error.status === kind);
}

/** A field of a request or of a draft as forms name it: *principal*. */
export function fieldName(path: string): string {
  return path.replace(/^(grant|revoke|policies\.put|guarantees)\.\d+\.?/, '').split('.')[0] ?? path;
}

/** Errors of the service by form field. */
export function fieldErrorsOf(error: Error | null): Readonly<Record<string, string>> {
  const fields = error instanceof Problem ? error.fields : [];
  return Object.fromEntries(fields.map(({ field, message }) => [fieldName(field), `${message}.`]));
}

let newest: Promise<unknown> = Promise.resolve();

/** Runs requests one after the other: the service computes one comparison at a time for each person. */
export function oneAtATime<T>(ask: () => Promise<T>): Promise<T> {
  const asked = newest.then(ask);
  newest = asked.catch(() => undefined);
  return asked;
}
