import type { TrinoSession } from './fake-trino-identity.js';
import { noteSecret } from '../service/secrets.js';

export interface ScriptedPage {
  columns?: unknown[];
  /** Text goes out as it is: for integers that JavaScript cannot write. */
  data?: unknown[] | string;
  updateType?: string;
  updateCount?: number;
  state?: string;
  progress?: number;
  error?: unknown;
  headers?: Record<string, string>;
  /** The page is given when this resolves. */
  after?: Promise<void>;
  /** Instead of the engine's nextUri. */
  nextUri?: string;
  /** The whole answer, as it is. */
  raw?: string;
  /** The text that `@filler` in `data` repeats; it is streamed, never in memory as a whole. */
  filler?: { text: string; bytes: number };
}

export interface StatementBody {
  body: string;
  headers: Record<string, string>;
  filler?: { text: string; bytes: number };
}

export type Script = (session: TrinoSession) => ScriptedPage[];

/** One statement: its pages by token, of which the newest may be asked again. */
export class FakeStatement {
  cancelled = false;
  /** The token that was asked for last; -1: none yet. */
  newest = -1;
  private columns: unknown[] | undefined;
  private update: { updateType?: string; updateCount?: number } = {};

  constructor(
    readonly id: string,
    readonly sql: string,
    readonly session: TrinoSession,
    private readonly pages: ScriptedPage[],
  ) {}

  /** What makes a nextUri a capability; another one for each page. */
  slug(token: number): string {
    return `y${Buffer.from(`${this.id}/${token}`).toString('hex').padEnd(40, '0').slice(-40)}`;
  }

  wasAsked(token: number): boolean {
    return token <= this.newest;
  }

  /** The answer to the POST: with the first page, when it is marked for it. */
  first(origin: string): string {
    return JSON.stringify({
      id: this.id,
      infoUri: `${origin}/ui/query.html?${this.id}`,
      nextUri: this.nextUri(origin, 0),
      stats: stats('QUEUED'),
      warnings: [],
    });
  }

  /** @returns null when that page has been passed. */
  async page(token: number, origin: string): Promise<StatementBody | null> {
    if (token < this.newest) return null;
    this.newest = token;
    const page = this.pages[token] ?? {};
    await page.after;
    if (this.cancelled)
      return { body: JSON.stringify({ id: this.id, stats: stats('FAILED'), error: CANCELLED }), headers: {} };
    if (page.raw !== undefined) return { body: page.raw, headers: page.headers ?? {} };
    this.columns = page.columns ?? this.columns;
    if (page.updateType !== undefined) this.update.updateType = page.updateType;
    if (page.updateCount !== undefined) this.update.updateCount = page.updateCount;
    const { data, error } = page;
    const last = error !== undefined || token >= this.pages.length;
    const answer = {
      id: this.id,
      ...(last ? {} : { nextUri: page.nextUri ?? this.nextUri(origin, token + 1) }),
      columns: this.columns,
      data: typeof data === 'string' ? '@data' : data,
      error,
      ...this.update,
      stats: stats(page.state ?? (last ? 'FINISHED' : 'RUNNING'), page.progress),
      warnings: [],
    };
    const text = JSON.stringify(answer);
    return {
      body: typeof data === 'string' ? text.replace('"@data"', () => data) : text,
      headers: page.headers ?? {},
      ...(page.filler === undefined ? {} : { filler: page.filler }),
    };
  }

  private nextUri(origin: string, token: number): string {
    noteSecret(this.slug(token));
    return `${origin}/v1/statement/${token === 0 ? 'queued' : 'executing'}/${this.id}/${this.slug(token)}/${token}`;
  }
}

const CANCELLED = { message: 'Query was canceled', errorCode: 3, errorName: 'USER_CANCELED', errorType: 'USER_ERROR' };

function stats(state: string, progress?: number): unknown {
  return { state, queued: state === 'QUEUED', ...(progress === undefined ? {} : { progressPercentage: progress }) };
}
