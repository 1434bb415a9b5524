import type { Mode } from '../running/engine.js';

/** The two families of header names that the engine understands; one request uses one of them. */
export type Family = 'X-Query' | 'X-Trino';
export const FAMILIES: readonly Family[] = ['X-Query', 'X-Trino'];

export interface Asker {
  mode: Mode;
  family: Family;
  user: string;
  /** The authenticated user: the engine checks that it may impersonate `user`. */
  originalUser?: string;
  token?: string;
  /** Who signs in by name, without a password: the engine checks each step from here to `user`. */
  signedIn?: string;
}

export type Answer =
  | { kind: 'rows'; rows: unknown[][] }
  /** The engine took the statement and refused or failed it. */
  | { kind: 'failed'; errorName: string; message: string }
  /** The request itself was turned away. */
  | { kind: 'http'; status: number; authenticate: string | null; text: string };

interface Page {
  nextUri?: string;
  data?: unknown[][];
  error?: { errorName: string; message: string };
}

/** Runs one statement on an engine, without Grantline. It shares no code with Grantline's own client. */
export async function runStatement(engine: string, asker: Asker, sql: string): Promise<Answer> {
  const headers = headersOf(asker);
  const rows: unknown[][] = [];
  let answer = await fetch(`${engine}/v1/statement`, { method: 'POST', body: sql, headers });
  for (;;) {
    if (answer.status !== 200) {
      const authenticate = answer.headers.get('WWW-Authenticate');
      return { kind: 'http', status: answer.status, authenticate, text: await answer.text() };
    }
    const page = (await answer.json()) as Page;
    rows.push(...(page.data ?? []));
    if (page.error !== undefined) return { kind: 'failed', ...page.error };
    if (page.nextUri === undefined) return { kind: 'rows', rows };
    // In the verified mode it is a link to https: only its path counts.
    answer = await fetch(`${engine}${new URL(page.nextUri).pathname}`, { headers });
  }
}

function headersOf({ mode, family, user, originalUser, token, signedIn }: Asker): Record<string, string> {
  return {
    [`${family}-User`]: user,
    ...(originalUser === undefined ? {} : { [`${family}-Original-User`]: originalUser }),
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    ...(signedIn === undefined ? {} : { Authorization: `Basic ${Buffer.from(`${signedIn}:`).toString('base64')}` }),
    ...(mode === 'verified' ? { 'X-Forwarded-Proto': 'https' } : {}),
  };
}
