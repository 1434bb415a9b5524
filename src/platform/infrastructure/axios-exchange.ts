import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { addAbortSignal, type Readable } from 'node:stream';
import axios, { type AxiosInstance } from 'axios';
import { NamedError } from '../../kernel/named-error.js';
import { Opaque } from '../../kernel/secret.js';
import { USER_AGENT } from '../version.js';

export interface Question {
  method: 'GET' | 'POST' | 'PATCH' | 'HEAD' | 'DELETE';
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** Milliseconds for the whole exchange, connecting and reading included. */
  timeout: number;
  signal?: AbortSignal;
  /** Called with the bytes received so far; to receive no more, abort the signal. */
  onBytes?: (bytes: number) => void;
}

export interface Reply {
  status: number;
  /** By lower-case name; one that came several times has its values joined by commas. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** There was no answer, or it broke off. The message is the cause's code (`ECONNREFUSED`): it names no header and no body. */
export class LostConnection extends NamedError {}

/** The time for the exchange was over first. */
export class LateAnswer extends LostConnection {}

/** An answer beyond the limit. */
export class OversizedReply extends NamedError {}

/**
 * One HTTP exchange: kept-alive connections, a deadline on the whole, no redirects, no proxies from the environment, any
 * status an answer. What axios throws is never handed on, because its errors carry the request with its token.
 */
@Opaque
export class AxiosExchange {
  private readonly agents: { http: HttpAgent; https: HttpsAgent };
  private readonly client: AxiosInstance;

  /** @param largestReply bytes, after decompression; counted while they come. */
  constructor(
    private readonly largestReply: number,
    connections: { ca?: string; maxSockets?: number } = {},
  ) {
    const options = { keepAlive: true, ...connections };
    this.agents = { http: new HttpAgent(options), https: new HttpsAgent(options) };
    this.client = axios.create({
      httpAgent: this.agents.http,
      httpsAgent: this.agents.https,
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
   * @throws the signal's reason when the caller aborts.
   */
  async ask({ method, url, headers, body, timeout, signal, onBytes }: Question): Promise<Reply> {
    const ending = new AbortController();
    const end = (): void => ending.abort();
    const timer = setTimeout(end, Math.max(1, Math.ceil(timeout)));
    signal?.addEventListener('abort', end, { once: true });
    try {
      signal?.throwIfAborted();
      const answer = await this.client.request<Readable>({
        method,
        url,
        headers,
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

  /** Closes the connections that are kept. */
  close(): void {
    this.agents.http.destroy();
    this.agents.https.destroy();
  }
}

function translated(error: unknown, timedOut: boolean): Error {
  if (timedOut) return new LateAnswer('no answer in time');
  if (error instanceof OversizedReply) return error;
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return new LostConnection(typeof code === 'string' ? code : 'unknown');
}
