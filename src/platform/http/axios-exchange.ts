import { readFile } from 'node:fs/promises';
import { Agent as HttpAgent, type AgentOptions } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { addAbortSignal, type Readable } from 'node:stream';
import { context, propagation } from '@opentelemetry/api';
import axios, { type AxiosInstance } from 'axios';
import { NamedError } from '../../kernel/errors.js';
import { Opaque } from '../../kernel/secret.js';
import { USER_AGENT } from '../operations/version.js';

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'HEAD' | 'DELETE';
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** Milliseconds for the whole exchange, including connecting and reading. */
  timeout: number;
  signal?: AbortSignal;
  /** Called with the number of bytes received so far. If it throws a NamedError, the exchange ends and `send` throws that error. */
  onBytes?: (bytes: number) => void;
}

export interface Reply {
  status: number;
  /** Headers by lower-case name. Values of repeated headers are joined by commas. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** Thrown if no complete answer arrived. The message is only the cause's code, such as `ECONNREFUSED`, without headers or body. */
export class LostConnection extends NamedError {}

export class LateAnswer extends LostConnection {}

/** Thrown if the file of certificate authorities cannot be read. The message is the file's path. */
export class UnreadableCaFile extends LostConnection {}

export class OversizedReply extends NamedError {}

/** Thrown for an answer with headers beyond Node's limit (`--max-http-header-size`). */
export class OversizedHeaders extends OversizedReply {}

interface ConnectionOptions {
  maxSockets?: number;
  /** A PEM file of certificate authorities; https trusts no others. Absent or null: https trusts those of the platform. */
  caFile?: string | null;
}

/**
 * Makes HTTP exchanges with kept-alive connections, a deadline for the whole exchange, no redirects, and no proxies from the environment. Any
 * status counts as an answer. Errors of axios are never passed on, because they contain the request with its token.
 */
@Opaque
export class AxiosExchange {
  private readonly httpAgent: HttpAgent;
  private httpsAgent: HttpsAgent;
  /** The content of `caFile` when it was last read. */
  private authorities: string | null = null;
  private readonly client: AxiosInstance;

  /** @param maxReplyBytes the most bytes of an answer's body after decompression, counted while they arrive. */
  constructor(
    private readonly maxReplyBytes: number,
    private readonly connectionOptions: ConnectionOptions = {},
  ) {
    this.httpAgent = new HttpAgent(this.agentOptions());
    this.httpsAgent = this.secureAgent();
    this.client = axios.create({
      httpAgent: this.httpAgent,
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
   * Sends a request. @throws LostConnection if no complete answer arrived in time.
   * @throws OversizedReply
   * @throws the signal's reason if the caller aborts, and any error of `onBytes`.
   */
  async send({ method, url, headers, body, timeout, signal, onBytes }: HttpRequest): Promise<Reply> {
    const abortController = new AbortController();
    const abortExchange = (): void => abortController.abort();
    const timer = setTimeout(abortExchange, Math.max(1, Math.ceil(timeout)));
    signal?.addEventListener('abort', abortExchange, { once: true });
    const sentHeaders = { ...headers };
    propagation.inject(context.active(), sentHeaders);
    try {
      signal?.throwIfAborted();
      if (url.startsWith('https:')) await this.renewAuthorities();
      const answer = await this.client.request<Readable>({
        method,
        url,
        headers: sentHeaders,
        httpsAgent: this.httpsAgent,
        ...(body === undefined ? {} : { data: body }),
        signal: abortController.signal,
      });
      return {
        status: answer.status,
        headers: Object.fromEntries(
          Object.entries(answer.headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
        ),
        body: await this.readBody(addAbortSignal(abortController.signal, answer.data), onBytes),
      };
    } catch (error) {
      signal?.throwIfAborted();
      throw translateError(error, abortController.signal.aborted);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abortExchange);
    }
  }

  /** Reads a body into memory, at most `maxReplyBytes` regardless of its Content-Length. */
  private async readBody(stream: Readable, onBytes: HttpRequest['onBytes']): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > this.maxReplyBytes) throw new OversizedReply('larger than the limit');
      onBytes?.(bytes);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, bytes);
  }

  /** Reads `caFile` before each request, so that a replaced file takes effect at once. */
  private async renewAuthorities(): Promise<void> {
    const { caFile } = this.connectionOptions;
    if (caFile === undefined || caFile === null) return;
    const authorities = await readFile(caFile, 'utf8').catch(() => {
      throw new UnreadableCaFile(caFile);
    });
    if (authorities === this.authorities) return;
    const formerAgent = this.httpsAgent;
    this.authorities = authorities;
    this.httpsAgent = this.secureAgent();
    // Connections of the former agent are closed: idle connections now, busy ones after their requests.
    formerAgent.maxFreeSockets = 0;
    for (const socket of Object.values(formerAgent.freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy();
  }

  /** An agent with explicit TLS options, so that no variable of Node (NODE_TLS_REJECT_UNAUTHORIZED, NODE_OPTIONS) weakens them. */
  private secureAgent(): HttpsAgent {
    return new HttpsAgent({
      ...this.agentOptions(),
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true,
      // `ca` is a list, because Node would replace an empty text by its own authorities.
      ...(this.authorities === null ? {} : { ca: [this.authorities] }),
    });
  }

  private agentOptions(): AgentOptions {
    const { maxSockets } = this.connectionOptions;
    return { keepAlive: true, ...(maxSockets === undefined ? {} : { maxSockets }) };
  }

  close(): void {
    this.httpAgent.destroy();
    this.httpsAgent.destroy();
  }
}

function translateError(error: unknown, hasTimedOut: boolean): Error {
  if (hasTimedOut) return new LateAnswer('no answer in time');
  if (error instanceof NamedError) return error;
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code === 'HPE_HEADER_OVERFLOW') return new OversizedHeaders('headers larger than the limit');
  return new LostConnection(typeof code === 'string' ? code : 'unknown');
}

const MAX_PAUSE_MS = 2_000;

/**
 * Milliseconds before the next attempt: `retryAfter`, or else `firstPause`, doubled for each failure after the first, up to two seconds.
 * @param failures the number of failures so far, including the present one
 */
export function retryPause(failures: number, retryAfter: number | null, firstPause: number): number {
  return retryAfter ?? Math.min(firstPause * 2 ** (failures - 1), MAX_PAUSE_MS);
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
