import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { refusalOfIdentity, sessionOf, type TrinoMode, type TrinoSession } from './fake-trino-identity.js';
import { FakeStatement, type Script, type ScriptedPage } from './fake-trino-statement.js';

interface Canned {
  method?: string;
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** Close the connection instead of answering. */
  hangUp?: boolean;
  filler?: { text: string; bytes: number };
  /** The request is dealt with when this resolves. */
  after?: Promise<void>;
  /** Execute the request, then give this answer instead of the real one. */
  afterwards?: boolean;
}

export interface SeenRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** A coordinator's statement endpoint, answering as Trino 483 was seen to answer. */
export class FakeTrino {
  mode: TrinoMode = { kind: 'insecure' };
  /** `protocol.v1.alternate-header-name`. */
  alternateHeader: string | null = 'Query';
  /** Whether the first name may become the second; asked in both modes when both are named. */
  mayImpersonate: (original: string, user: string) => boolean = () => true;
  /** What statements answer, by their SQL text; asked before the built-in ones. */
  scripts = new Map<string, Script>();
  /** Answers that replace the next ones. */
  instead: Canned[] = [];
  /** Of a gateway that has the engine below a path: what is elsewhere, or comes without this header, is not the engine's. */
  gateway: { path: string; header: string } | null = null;
  /** The prefix of nextUri; null: from the request's headers. */
  nextOrigin: string | null = null;
  readonly requests: SeenRequest[] = [];
  readonly statements: FakeStatement[] = [];
  private readonly server: Server = createServer((request, response) => void this.serve(request, response));

  /** The id of the statement that comes next. */
  get nextId(): string {
    return `20261120_120000_0000${this.statements.length}_fake`;
  }

  /** @returns `http://127.0.0.1:port`. */
  async listen(port = 0): Promise<string> {
    await new Promise<void>((ready) => this.server.listen(port, '127.0.0.1', ready));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  /** One statement's answer to come: its pages of rows, after the columns. */
  answers(sql: string, ...pages: ScriptedPage[]): void {
    this.scripts.set(sql, () => pages);
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const method = request.method ?? '';
    const path = (request.url ?? '').slice(this.gateway?.path.length);
    if (
      this.gateway !== null &&
      (!request.url?.startsWith(`${this.gateway.path}/v1/`) || request.headers[this.gateway.header] === undefined)
    ) {
      response.writeHead(404).end();
      return;
    }
    const seen: SeenRequest = { method, path, headers: request.headers, body: Buffer.concat(chunks).toString() };
    this.requests.push(seen);
    const at = this.instead.findIndex((canned) => (canned.method ?? method) === method);
    const canned = at === -1 ? undefined : this.instead.splice(at, 1)[0];
    await canned?.after;
    const real = canned === undefined || canned.afterwards === true ? await this.answer(seen) : null;
    if (canned?.hangUp === true) {
      request.socket.destroy();
      return;
    }
    const { status, headers, body, filler } = { status: 200, headers: {}, body: '', filler: null, ...real, ...canned };
    if (filler !== null) {
      response.writeHead(status, headers);
      // The client may have disconnected.
      await pipeline(Readable.from(filled(body, filler)), response).catch(() => undefined);
      return;
    }
    const zipped = request.headers['accept-encoding']?.includes('gzip') === true && body !== '';
    response.writeHead(status, { ...headers, ...(zipped ? { 'Content-Encoding': 'gzip' } : {}) });
    response.end(zipped ? gzipSync(body) : body);
  }

  private async answer(seen: SeenRequest): Promise<Canned> {
    if (seen.path === '/v1/statement') {
      return seen.method === 'POST' ? this.submit(seen) : { status: 405, body: '' };
    }
    const [, , , , id, slug, token] = seen.path.split('/');
    const statement = this.statements.find((candidate) => candidate.id === id);
    const refused = {
      status: 404,
      headers: { 'Content-Type': 'text/plain' },
      body: 'Error 404 Not Found: Query not found',
    };
    if (statement === undefined || slug !== statement.slug(Number(token))) return refused;
    if (seen.method === 'DELETE') {
      statement.cancelled = true;
      return { status: 204 };
    }
    if (seen.method === 'HEAD') return statement.wasAsked(Number(token)) ? {} : { status: 404 };
    const page = await statement.page(Number(token), this.originFor(seen));
    if (page === null) return { status: 410, body: 'Error 410 Gone: HTTP 410 Gone' };
    return { ...page, headers: { 'Content-Type': 'application/json', ...page.headers } };
  }

  private submit(seen: SeenRequest): Canned {
    const refused = refusalOfIdentity(seen.headers, this.mode, this.alternateHeader);
    if (refused !== null) return refused;
    if (seen.body === '') return { status: 400, body: 'Error 400 Bad Request: SQL statement is empty' };
    const session = sessionOf(seen.headers, this.mode, this.alternateHeader);
    if (session.schema !== null && session.catalog === null) {
      return { status: 400, body: 'Error 400 Bad Request: Schema is set but catalog is not' };
    }
    const statement = new FakeStatement(this.nextId, seen.body, session, this.pages(seen.body, session));
    this.statements.push(statement);
    const body = statement.first(this.originFor(seen));
    return { headers: { 'Content-Type': 'application/json' }, body };
  }

  private pages(sql: string, session: TrinoSession): ScriptedPage[] {
    if (session.originalUser !== session.user && !this.mayImpersonate(session.originalUser, session.user)) {
      const message = `Access Denied: User ${session.originalUser} cannot impersonate user ${session.user}`;
      return [failed('PERMISSION_DENIED', message)];
    }
    const script = this.scripts.get(sql) ?? BUILT_IN[sql];
    return script === undefined ? [failed('SYNTAX_ERROR', `line 1:1: mismatched input '${sql}'.`)] : script(session);
  }

  private originFor(seen: SeenRequest): string {
    const proto = seen.headers['x-forwarded-proto'] ?? 'http';
    return this.nextOrigin ?? `${[proto].flat()[0] ?? 'http'}://${seen.headers.host ?? ''}`;
  }
}

function* filled(body: string, { text, bytes }: { text: string; bytes: number }): Generator<string> {
  const [before = '', after = ''] = body.split('@filler');
  const block = text.repeat(Math.ceil(65_536 / text.length));
  yield before;
  for (let left = Math.floor(bytes / text.length) * text.length; left > 0; left -= block.length) {
    yield left < block.length ? block.slice(0, left) : block;
  }
  yield after;
}

/** A statement that ends as the engine ends it, with everything in its error that must not be passed on. */
export function failed(errorName: string, message: string, errorType = 'USER_ERROR'): ScriptedPage {
  const failureInfo = {
    type: 'io.trino.spi.TrinoException',
    message,
    stack: ['io.trino.Secret.path(/etc/trino/rules.json)'],
  };
  const errorLocation = { lineNumber: 1, columnNumber: 8 };
  return { error: { message, errorCode: 1, errorName, errorType, errorLocation, failureInfo } };
}

export const column = (name: string, type: string): { name: string; type: string; typeSignature: unknown } => ({
  name,
  type,
  typeSignature: { rawType: type, arguments: [] },
});

const VARCHAR = {
  name: '_col0',
  type: 'varchar',
  typeSignature: { rawType: 'varchar', arguments: [{ kind: 'LONG', value: 2147483647 }] },
};

const BUILT_IN: Readonly<Record<string, Script>> = {
  'SELECT 1': () => [{ columns: [column('_col0', 'integer')], data: [[1]] }],
  'SELECT current_user': ({ user }) => [{ columns: [VARCHAR], data: [[user]] }],
  'SELECT current_catalog': ({ catalog }) => [{ columns: [VARCHAR], data: [[catalog]] }],
  'SHOW CATALOGS': () => [{ columns: [VARCHAR], data: [['memory'], ['system'], ['tpch']] }],
};
