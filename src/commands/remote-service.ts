import { NamedError } from '../kernel/errors.js';
import { Opaque } from '../kernel/secret.js';
import { AxiosExchange, LostConnection, OversizedReply, type Question } from '../platform/http/axios-exchange.js';
import { loadRemoteAccess, type RemoteAccess, type RemoteOptions } from '../platform/settings/settings-loader.js';
import { remark } from './output.js';

/** Milliseconds within which the whole answer must arrive. */
const DEADLINE = 30_000;

/** The same limit for a run of the sync or a large snapshot, which take minutes. */
export const LONG_DEADLINE = 600_000;

/** The most bytes of an answer. A snapshot of a million grants has 330 MB. */
const LARGEST_ANSWER = 400_000_000;

/** The service refused the request or was not reached, so nothing was done. */
export class RemoteRefusal extends NamedError {}

/** The service gave no answer, so the request may have taken effect. */
export class RemoteSilence extends NamedError {}

/** The API of a running service, with an API token. */
@Opaque
export class RemoteService {
  private readonly exchange = new AxiosExchange(LARGEST_ANSWER);

  constructor(private readonly access: RemoteAccess) {}

  /** @typeParam Form the type of the answer by the service's OpenAPI document */
  get<Form>(path: string, query: Readonly<Record<string, string>> = {}, timeout = DEADLINE): Promise<Form> {
    const asked = new URLSearchParams(query).toString();
    return this.request<Form>(asked === '' ? path : `${path}?${asked}`, { method: 'GET', timeout });
  }

  post<Form>(path: string, body: object = {}): Promise<Form> {
    const asked = { method: 'POST', timeout: LONG_DEADLINE, body: JSON.stringify(body) } as const;
    return this.request<Form>(path, asked, { 'Content-Type': 'application/json' });
  }

  /** @throws RemoteRefusal, RemoteSilence */
  private async request<Form>(
    path: string,
    asked: Pick<Question, 'method' | 'timeout' | 'body'>,
    headers: Question['headers'] = {},
  ): Promise<Form> {
    const { url, token } = this.access;
    const given = { Accept: 'application/json', Authorization: `Bearer ${token.reveal()}`, ...headers };
    const reply = await this.exchange
      .send({ ...asked, url: `${url}${path}`, headers: given })
      .catch((error: unknown) => {
        if (!(error instanceof LostConnection || error instanceof OversizedReply)) throw error;
        const Failure = UNREACHED.test(error.message) ? RemoteRefusal : RemoteSilence;
        throw new Failure(`${url} gives no answer: ${error.message}`);
      });
    const answer = objectIn(reply.body);
    // A refused snapshot file has the same form as an applied one.
    const isRefusedFile = reply.status === 422 && answer !== null && 'outcome' in answer;
    if (answer !== null && (reply.status === 200 || isRefusedFile)) return answer as Form;
    throw new RemoteRefusal(`${url} answers ${reply.status} ${answer === null ? FOREIGN : problemText(answer)}`);
  }
}

/** The service that the options name. Null: the command works on the configured database. @throws SettingsRefused */
export function remoteService(options: RemoteOptions): RemoteService | null {
  const access = loadRemoteAccess(options);
  if (access === null) return null;
  remark(`service: ${access.url}`);
  return new RemoteService(access);
}

/** Codes of failures before the connection was made. */
const UNREACHED = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CERT_.*|.*_CERT_.*|ERR_TLS_.*)$/;

const FOREIGN = 'without JSON: is this the address of the API?';

function objectIn(body: Buffer): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}

/** A problem (RFC 9457) on one line. */
function problemText({ code, detail, errors, request_id: id }: Readonly<Record<string, unknown>>): string {
  const fields = Array.isArray(errors) ? (errors as { field: string; message: string }[]) : [];
  const texts = [
    ...[code, detail].filter((text) => typeof text === 'string'),
    ...fields.map(({ field, message }) => `${field} ${message}`),
    ...(typeof id === 'string' ? [`(request ${id})`] : []),
  ];
  return texts.join(' ').replace(/\s+/g, ' ');
}
