import { isObject, jsonOrNull } from '../kernel/json-reader.js';
import { NamedError } from '../kernel/errors.js';
import { Opaque } from '../kernel/secret.js';
import { AxiosExchange, LostConnection, OversizedReply, type HttpRequest } from '../platform/http/axios-exchange.js';
import { loadRemoteAccess, type RemoteAccess, type RemoteOptions } from '../platform/settings/settings-loader.js';
import { printRemark } from './output.js';

const DEADLINE_MS = 30_000;

/** The deadline of requests that take minutes: a run of the sync, or a large snapshot. */
export const LONG_DEADLINE_MS = 600_000;

/** The most bytes of an answer. A snapshot of a million grants has 330 MB. */
const MAX_ANSWER_BYTES = 400_000_000;

/** The service refused the request or was not reached, so nothing was done. */
export class RemoteRefusal extends NamedError {}

/** The service gave no answer, so the request may have taken effect. */
export class NoRemoteAnswer extends NamedError {}

/** The API of a running service, with an API token. */
@Opaque
export class RemoteService {
  private readonly exchange = new AxiosExchange(MAX_ANSWER_BYTES);

  constructor(private readonly access: RemoteAccess) {}

  /** @typeParam Form the type of the answer by the service's OpenAPI document */
  get<Form>(path: string, query: Readonly<Record<string, string>> = {}, timeout = DEADLINE_MS): Promise<Form> {
    const parameters = new URLSearchParams(query).toString();
    return this.request<Form>(parameters === '' ? path : `${path}?${parameters}`, { method: 'GET', timeout });
  }

  post<Form>(path: string, body: object = {}): Promise<Form> {
    const requestOptions = { method: 'POST', timeout: LONG_DEADLINE_MS, body: JSON.stringify(body) } as const;
    return this.request<Form>(path, requestOptions, { 'Content-Type': 'application/json' });
  }

  /** Sends a request and returns the JSON answer. @throws RemoteRefusal, NoRemoteAnswer */
  private async request<Form>(
    path: string,
    message: Pick<HttpRequest, 'method' | 'timeout' | 'body'>,
    headers: HttpRequest['headers'] = {},
  ): Promise<Form> {
    const { url, token } = this.access;
    const allHeaders = { Accept: 'application/json', Authorization: `Bearer ${token.reveal()}`, ...headers };
    const reply = await this.exchange
      .send({ ...message, url: `${url}${path}`, headers: allHeaders })
      .catch((error: unknown) => {
        if (!(error instanceof LostConnection || error instanceof OversizedReply)) throw error;
        const FailureClass = UNREACHABLE_CODES.test(error.message) ? RemoteRefusal : NoRemoteAnswer;
        throw new FailureClass(`${url} gives no answer: ${error.message}`);
      });
    const parsedBody = jsonOrNull(reply.body.toString());
    const answer = isObject(parsedBody) ? parsedBody : null;
    // The answer to a refused snapshot file has the same form as the answer to an applied one.
    const isRefusedFile = reply.status === 422 && answer !== null && 'outcome' in answer;
    if (answer !== null && (reply.status === 200 || isRefusedFile)) return answer as Form;
    throw new RemoteRefusal(`${url} answers ${reply.status} ${answer === null ? NO_JSON_TEXT : problemText(answer)}`);
  }
}

/** The service that the options name. Null: none, so the command works on the configured database. @throws SettingsRefused */
export function remoteService(options: RemoteOptions): RemoteService | null {
  const access = loadRemoteAccess(options);
  if (access === null) return null;
  printRemark(`service: ${access.url}`);
  return new RemoteService(access);
}

/** Codes of failures before the connection was made. */
const UNREACHABLE_CODES = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CERT_.*|.*_CERT_.*|ERR_TLS_.*)$/;

const NO_JSON_TEXT = 'without JSON: is this the address of the API?';

/** A problem (RFC 9457) on one line. */
function problemText({ code, detail, errors, request_id: id }: Readonly<Record<string, unknown>>): string {
  const fieldErrors = Array.isArray(errors) ? (errors as { field: string; message: string }[]) : [];
  const texts = [
    ...[code, detail].filter((text) => typeof text === 'string'),
    ...fieldErrors.map(({ field, message }) => `${field} ${message}`),
    ...(typeof id === 'string' ? [`(request ${id})`] : []),
  ];
  return texts.join(' ').replace(/\s+/g, ' ');
}
