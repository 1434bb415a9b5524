import { readFile } from 'node:fs/promises';
import { Agent as HttpAgent, type AgentOptions } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { addAbortSignal, type Readable } from 'node:stream';
import { context, propagation } from '@opentelemetry/api';
import axios, { type AxiosInstance } from 'axios';
import { NamedError } from '../../kernel/errors.js';
import { Opaque } from '../../kernel/secret.js';
import { USER_AGENT } from '../operations/version.js';

export interface Question {
  method: 'GET' | 'POST' | 'PATCH' | 'HEAD' | 'DELETE';
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** Milliseconds for the whole exchange, connecting and reading included. */
  timeout: number;
  signal?: AbortSignal;
  /** Called with the number of bytes received so far. A NamedError that it throws ends the exchange and is thrown by it. */
  onBytes?: (bytes: number) => void;
}

export interface Reply {
  status: number;
  /** Headers by lower-case name. Values of repeated headers are joined by commas. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** There was no answer, or it broke off. The message is only the cause's code (`ECONNREFUSED`), without headers or body. */
export class LostConnection extends NamedError {}

/** The exchange exceeded its time. */
export class LateAnswer extends LostConnection {}

/** The file of certificate authorities cannot be read. The message is its path. */
export class UnreadableAuthorities extends LostConnection {}

/** An answer beyond the limit. */
export class OversizedReply extends NamedError {}

/** An answer whose headers exceed Node's limit (`--max-http-header-size`). */
export class OversizedHeaders extends OversizedReply {}

interface ConnectionOptions {
  maxSockets?: number;
  /** A PEM file of certificate authorities, the only ones that https trusts. Absent or null: the platform's own. */
  caFile?: string | null;
}

/**
 * Makes HTTP exchanges with kept-alive connections, a deadline for the whole, no redirects and no proxies from the environment. Any status
 * counts as an answer. Errors of axios are never passed on, because they contain the request with its token.
 */
@Opaque
export class AxiosExchange {
  private readonly http: HttpAgent;
  private https: HttpsAgent;
  /** The content of the file of authorities at the last read. */
  private authorities: string | null = null;
  private readonly client: AxiosInstance;

  /** @param largestReply the most bytes after decompression, counted while they arrive. */
  constructor(
    private readonly largestReply: number,
    private readonly connections: ConnectionOptions = {},
  ) {
    this.http = new HttpAgent(this.agentOptions());
    this.https = this.secureAgent();
    this.client = axios.create({
      httpAgent: this.http,
      proxy: false,
      maxRedirects: 0,
      maxBodyLength: Infinity,
      headers: { 'User-Agent': USER_AGENT },
      validateStatus: null,
      responseType: 'stream',
      transformRequest: [(body: unknown) => body],
    });
  }

  /**
   * @throws LostConnection if no complete answer arrived in time.
   * @throws OversizedReply
   * @throws the signal's reason if the caller aborts, and any error of `onBytes`.
   */
  async send({ method, url, headers, body, timeout, signal, onBytes }: Question): Promise<Reply> {
    const ending = new AbortController();
    const end = (): void => ending.abort();
    const timer = setTimeout(end, Math.max(1, Math.ceil(timeout)));
    signal?.addEventListener('abort', end, { once: true });
    const sent = { ...headers };
    propagation.inject(context.active(), sent);
    try {
      signal?.throwIfAborted();
      if (url.startsWith('https:')) await this.renewAuthorities();
      const answer = await this.client.request<Readable>({
        method,
        url,
        headers: sent,
        httpsAgent: this.https,
        ...(body === undefined ? {} : { data: body }),
        signal: ending.signal,
      });
      return {
        status: answer.status,
        headers: Object.fromEntries(
          Object.entries(answer.headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
        ),
        body: await this.read(addAbortSignal(ending.signal, answer.data), onBytes),
      };
    } catch (error) {
      signal?.throwIfAborted();
      throw translated(error, ending.signal.aborted);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }

  /** Reads a body into memory up to the limit, regardless of its Content-Length. */
  private async read(stream: Readable, onBytes: Question['onBytes']): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > this.largestReply) throw new OversizedReply('larger than the limit');
      onBytes?.(bytes);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, bytes);
  }

  /** Reads the file of authorities again, so that a replaced file counts from the next request on. */
  private async renewAuthorities(): Promise<void> {
    const { caFile } = this.connections;
    if (caFile === undefined || caFile === null) return;
    const authorities = await readFile(caFile, 'utf8').catch(() => {
      throw new UnreadableAuthorities(caFile);
    });
    if (authorities === this.authorities) return;
    const former = this.https;
    this.authorities = authorities;
    this.https = this.secureAgent();
    // Idle connections end now, the others after their requests.
    former.maxFreeSockets = 0;
    for (const socket of Object.values(former.freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy();
  }

  /** An agent with explicit TLS options, so that no variable of Node (NODE_TLS_REJECT_UNAUTHORIZED, NODE_OPTIONS) weakens them. */
  private secureAgent(): HttpsAgent {
    return new HttpsAgent({
      ...this.agentOptions(),
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true,
      // The list matters: an empty text outside a list would mean Node's own authorities.
      ...(this.authorities === null ? {} : { ca: [this.authorities] }),
    });
  }

  private agentOptions(): AgentOptions {
    const { maxSockets } = this.connections;
    return { keepAlive: true, ...(maxSockets === undefined ? {} : { maxSockets }) };
  }

  /** Closes the kept-alive connections. */
  close(): void {
    this.http.destroy();
    this.https.destroy();
  }
}

function translated(error: unknown, timedOut: boolean): Error {
  if (timedOut) return new LateAnswer('no answer in time');
  if (error instanceof NamedError) return error;
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code === 'HPE_HEADER_OVERFLOW') return new OversizedHeaders('headers larger than the limit');
  return new LostConnection(typeof code === 'string' ? code : 'unknown');
}

const LONGEST_PAUSE = 2_000;

/**
 * Milliseconds before the next attempt: the server's `Retry-After`, or else `first`, doubled for each failure, up to two seconds.
 * @param failures the number of failures so far, including the present one
 */
export function retryPause(failures: number, retryAfter: number | null, first: number): number {
  return retryAfter ?? Math.min(first * 2 ** (failures - 1), LONGEST_PAUSE);
}

/**
 * `Retry-After` in milliseconds, from seconds or an HTTP date (RFC 9110 section 10.2.3); null if it is absent or invalid.
 * @param now the present time; if absent, dates are not read
 */
export function readRetryAfter(value: string | undefined, now?: Date): number | null {
  if (value === undefined) return null;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) || now === undefined ? null : Math.max(0, date - now.getTime());
}
