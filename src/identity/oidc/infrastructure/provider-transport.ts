import { NamedError } from '../../../kernel/errors.js';
import { type CustomFetch } from 'openid-client';
import { isObject, jsonOrNull } from '../../../kernel/json-reader.js';
import { Opaque } from '../../../kernel/secret.js';
import { AxiosExchange, type Reply } from '../../../platform/http/axios-exchange.js';

/** Error: the provider gave no usable answer. The message is a short code. */
export class ProviderUnavailable extends NamedError {}

/** Milliseconds within which the whole answer must arrive, because a person waits for the sign-in. */
const DEADLINE_MS = 5_000;
const MAX_ANSWER_BYTES = 256 * 1024;

/** Requests to the provider, limited in bytes and time. Redirects are not followed. */
@Opaque
export class ProviderTransport {
  private readonly exchange: AxiosExchange;
  /** Whether the last request got a usable answer; null: there was no request yet. */
  isReachable: boolean | null = null;

  constructor(caFile: string | null) {
    this.exchange = new AxiosExchange(MAX_ANSWER_BYTES, { caFile });
  }

  /** A function like `fetch`, to be called by openid-client. @throws ProviderUnavailable */
  readonly fetch = async (url: string, { method, headers, body }: Parameters<CustomFetch>[1]): Promise<Response> => {
    const bodyText = body instanceof URLSearchParams ? body.toString() : typeof body === 'string' ? body : null;
    const reply = await this.request({
      method: method === 'POST' ? 'POST' : 'GET',
      url,
      headers: { ...headers },
      ...(bodyText !== null && { body: bodyText }),
    });
    // The constructor of `Response` rejects a status below 200, and a body with status 204, 205 or 304.
    if (reply.status < 200 || [204, 205, 304].includes(reply.status))
      throw this.badAnswerError(`status ${reply.status}`);
    return new Response(new Uint8Array(reply.body), { status: reply.status, headers: { ...reply.headers } });
  };

  /** Gets a document. @throws ProviderUnavailable for anything but a JSON object with status 200 */
  async getDocument(url: string): Promise<Readonly<Record<string, unknown>>> {
    const { status, body } = await this.request({ method: 'GET', url, headers: { Accept: 'application/json' } });
    if (status !== 200) throw this.badAnswerError(`status ${status}`);
    const document = jsonOrNull(body.toString());
    if (isObject(document)) return document;
    throw this.badAnswerError('no JSON');
  }

  /** Records that the provider is not reachable, and makes the error for an unusable answer. */
  badAnswerError(code: string): ProviderUnavailable {
    this.isReachable = false;
    return new ProviderUnavailable(code);
  }

  close(): void {
    this.exchange.close();
  }

  private async request(message: {
    method: 'GET' | 'POST';
    url: string;
    headers: Record<string, string>;
    body?: string;
  }): Promise<Reply> {
    try {
      const reply = await this.exchange.send({ ...message, timeout: DEADLINE_MS });
      if (reply.status >= 500) throw new ProviderUnavailable(`status ${reply.status}`);
      this.isReachable = true;
      return reply;
    } catch (error) {
      throw this.badAnswerError(error instanceof Error ? error.message : 'unknown');
    }
  }
}
