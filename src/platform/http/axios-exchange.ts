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
  /** Called with the bytes received so far. A NamedError that it throws ends the exchange, and is thrown by it. */
  onBytes?: (bytes: number) => void;
}

export interface Reply {
  status: number;
  /** By lower-case name; repeated headers are joined by commas. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** There was no answer, or it broke off. The message is the cause's code (`ECONNREFUSED`): it names no header and no body. */
export class LostConnection extends NamedError {}

/** The time for the exchange was over first. */
export class LateAnswer extends LostConnection {}

/** The file with the certificate authorities cannot be read. The message is its path. */
export class UnreadableAuthorities extends LostConnection {}

/** An answer beyond the limit. */
export class OversizedReply extends NamedError {}

/** Its headers are beyond Node's limit (`--max-http-header-size`). */
export class OversizedHeaders extends OversizedReply {}

interface ConnectionOptions {
  maxSockets?: number;
  /** A file in PEM: https trusts its certificate authorities and no others. Absent or null: the platform's own. */
  caFile?: string | null;
}

/**
 * One HTTP exchange: kept-alive connections, a deadline on the whole, no redirects, no proxies from the environment, any
 * status an answer. What axios throws is never handed on, because its errors carry the request with its token.
 */
@Opaque
export class AxiosExchange {
  private readonly http: HttpAgent;
  private https: HttpsAgent;
  /** Content of the file of authorities when it was last read. */
  private authorities: string | null = null;
  private readonly client: AxiosInstance;

  /** @param largestReply bytes, after decompression; counted while they come. */
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
   * @throws LostConnection when no whole answer came in time.
   * @throws OversizedReply
   * @throws the signal's reason when the caller aborts, and what `onBytes` throws.
   */
  async ask({ method, url, headers, body, timeout, signal, onBytes }: Question): Promise<Reply> {
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

  /** Reads a body into memory up to the limit, whatever its Content-Length. */
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

  /** Authorities of a replaced file count from the next request on. */
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
    retire(former);
  }

  /** Set here so that no variable of Node's (NODE_TLS_REJECT_UNAUTHORIZED, NODE_OPTIONS) weakens it. */
  private secureAgent(): HttpsAgent {
    return new HttpsAgent({
      ...this.agentOptions(),
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true,
      // In a list, because an empty text alone would mean Node's own authorities.
      ...(this.authorities === null ? {} : { ca: [this.authorities] }),
    });
  }

  private agentOptions(): AgentOptions {
    const { maxSockets } = this.connections;
    return { keepAlive: true, ...(maxSockets === undefined ? {} : { maxSockets }) };
  }

  /** Closes the connections that are kept. */
  close(): void {
    this.http.destroy();
    this.https.destroy();
  }
}

/** Ends idle connections now, and each of the others behind its request. */
function retire(agent: HttpsAgent): void {
  agent.maxFreeSockets = 0;
  for (const socket of Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy();
}

function translated(error: unknown, timedOut: boolean): Error {
  if (timedOut) return new LateAnswer('no answer in time');
  if (error instanceof NamedError) return error;
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code === 'HPE_HEADER_OVERFLOW') return new OversizedHeaders('headers larger than the limit');
  return new LostConnection(typeof code === 'string' ? code : 'unknown');
}
