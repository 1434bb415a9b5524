import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import axios, { type AxiosInstance, type AxiosResponse } from 'axios';

export interface Question {
  method: 'GET' | 'POST' | 'HEAD' | 'DELETE';
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** Milliseconds for the whole exchange, connecting and reading included. */
  timeout: number;
  signal?: AbortSignal;
}

export interface Reply {
  status: number;
  /** By lower-case name; one that came several times has its values joined by commas. */
  headers: Readonly<Record<string, string>>;
  text: string;
}

/** No answer came, or it broke off. The message is the cause's code (`ECONNREFUSED`): it names no header and no body. */
export class LostConnection extends Error {
  override readonly name = 'LostConnection';
}

/** An answer that is larger than anything the other side has to say. */
export class OversizedReply extends Error {
  override readonly name = 'OversizedReply';
}

/**
 * One HTTP exchange: kept-alive connections, a deadline on the whole, no redirects, no proxies from the environment, any
 * status an answer. What axios throws is never handed on, because its errors carry the request with its token.
 */
export class AxiosExchange {
  private readonly agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };
  private readonly client: AxiosInstance;

  /** @param largestReply bytes, after decompression. */
  constructor(largestReply: number) {
    this.client = axios.create({
      httpAgent: this.agents.http,
      httpsAgent: this.agents.https,
      proxy: false,
      maxRedirects: 0,
      maxContentLength: largestReply,
      maxBodyLength: Infinity,
      validateStatus: null,
      responseType: 'text',
      transformRequest: [(body: unknown) => body],
      transformResponse: [(body: unknown) => body],
    });
  }

  /**
   * @throws LostConnection when no whole answer came in time.
   * @throws OversizedReply
   * @throws the signal's reason when the caller aborts.
   */
  async ask({ method, url, headers, body, timeout, signal }: Question): Promise<Reply> {
    const ending = new AbortController();
    const end = (): void => ending.abort();
    const timer = setTimeout(end, Math.max(1, Math.ceil(timeout)));
    signal?.addEventListener('abort', end, { once: true });
    try {
      signal?.throwIfAborted();
      const answer: AxiosResponse<string> = await this.client.request({
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
        text: answer.data,
      };
    } catch (error) {
      signal?.throwIfAborted();
      throw translated(error, ending.signal.aborted);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }

  /** Closes the connections that are kept. */
  close(): void {
    this.agents.http.destroy();
    this.agents.https.destroy();
  }
}

function translated(error: unknown, timedOut: boolean): Error {
  if (timedOut) return new LostConnection('no answer in time');
  if (!axios.isAxiosError(error)) return new LostConnection('unknown');
  if (error.message.startsWith('maxContentLength')) return new OversizedReply('larger than the limit');
  return new LostConnection(error.code ?? 'unknown');
}
