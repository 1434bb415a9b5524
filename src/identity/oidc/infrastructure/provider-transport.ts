import { NamedError } from '../../../kernel/errors.js';
import { jsonOrNull } from '../../../kernel/json-reader.js';
import { Opaque } from '../../../kernel/secret.js';
import { AxiosExchange, type Reply } from '../../../platform/http/axios-exchange.js';

/** The provider gave no usable answer. The message is a short code. */
export class ProviderUnavailable extends NamedError {}

/** Milliseconds within which the whole answer must arrive, because a person waits. */
const DEADLINE = 5_000;
const LARGEST_ANSWER = 256 * 1024;

/** The options with which openid-client calls its `customFetch`. */
interface FetchOptions {
  method: string;
  headers: Record<string, string>;
  body?: unknown;
}

/** Requests to the provider, limited in bytes and time. Redirects are not followed. */
@Opaque
export class ProviderTransport {
  private readonly exchange: AxiosExchange;
  /** Whether the last request got a usable answer; null: there was none. */
  isReachable: boolean | null = null;

  constructor(caFile: string | null) {
    this.exchange = new AxiosExchange(LARGEST_ANSWER, { caFile });
  }

  /** Has the signature of `fetch`, for libraries. @throws ProviderUnavailable */
  readonly fetch = async (url: string, { method, headers, body }: FetchOptions): Promise<Response> => {
    const text = body instanceof URLSearchParams ? body.toString() : typeof body === 'string' ? body : null;
    const reply = await this.ask({
      method: method === 'POST' ? 'POST' : 'GET',
      url,
      headers: { ...headers },
      ...(text !== null && { body: text }),
    });
    // `Response` rejects statuses below 200, and a body with these three.
    if (reply.status < 200 || [204, 205, 304].includes(reply.status))
      throw this.unusableAnswer(`status ${reply.status}`);
    return new Response(new Uint8Array(reply.body), { status: reply.status, headers: { ...reply.headers } });
  };

  /** Gets a document. @throws ProviderUnavailable for anything but a JSON object with status 200 */
  async getDocument(url: string): Promise<Readonly<Record<string, unknown>>> {
    const { status, body } = await this.ask({ method: 'GET', url, headers: { Accept: 'application/json' } });
    if (status !== 200) throw this.unusableAnswer(`status ${status}`);
    const document = jsonOrNull(body.toString());
    if (typeof document === 'object' && document !== null && !Array.isArray(document)) return { ...document };
    throw this.unusableAnswer('no JSON');
  }

  /** The error for an unusable answer, which counts as no answer. */
  unusableAnswer(code: string): ProviderUnavailable {
    this.isReachable = false;
    return new ProviderUnavailable(code);
  }

  close(): void {
    this.exchange.close();
  }

  private async ask(question: {
    method: 'GET' | 'POST';
    url: string;
    headers: Record<string, string>;
    body?: string;
  }): Promise<Reply> {
    try {
      const reply = await this.exchange.send({ ...question, timeout: DEADLINE });
      if (reply.status >= 500) throw new ProviderUnavailable(`status ${reply.status}`);
      this.isReachable = true;
      return reply;
    } catch (error) {
      throw this.unusableAnswer(error instanceof Error ? error.message : 'unknown');
    }
  }
}
