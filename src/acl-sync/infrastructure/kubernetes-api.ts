import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import axios, { type AxiosResponse, isAxiosError } from 'axios';
import type { Timers } from '../../kernel/timers.js';
import { USER_AGENT } from '../../platform/version.js';
import { RulesTargetUnavailable } from '../domain/rules-target.js';

export interface KubernetesSettings {
  apiUrl: string;
  caFile: string;
  tokenFile: string;
}

export interface KubernetesAnswer {
  status: number;
  /** Untrusted JSON; null: no body, or not JSON. */
  body: unknown;
  /** Finds the request in the API server's audit log. */
  auditId: string | null;
}

/** The connection was lost or refused, or the call's deadline passed. */
type NoAnswer = 'lost' | 'silent';

interface KubernetesRequest {
  method: string;
  path: string;
  body?: string;
  /** The media type of the body. */
  type?: string;
}

/** Retries by kind of failure, after the first try. The API server answers 500 to faults of the caller too. */
const REPEATS = { busy: 4, broken: 1, silent: 1, unauthorized: 1 };
type Trouble = keyof typeof REPEATS;
const CALL_MS = 10_000;
const FIRST_PAUSE_MS = 250;
const ANSWER_MAX_BYTES = 8 * 1024 * 1024;

/**
 * Requests to the Kubernetes API server: keep-alive, a deadline for every call, bounded retries, and the
 * token read from its file each time, because a kubelet replaces it. Never throws an axios error: those carry the token.
 */
export class KubernetesApi {
  private tls: { ca: string; agent: Agent } | null = null;

  /** @param callMs for one call; a server that is silent for so long twice is down */
  constructor(
    private readonly settings: KubernetesSettings,
    private readonly timers: Timers,
    private readonly callMs = CALL_MS,
  ) {}

  get(path: string, signal: AbortSignal): Promise<KubernetesAnswer> {
    return this.call({ method: 'GET', path }, signal);
  }

  /** POST of an object that the server does not store, such as a review: retried when the answer is lost. */
  create(path: string, object: unknown, signal: AbortSignal): Promise<KubernetesAnswer> {
    return this.call({ method: 'POST', path, body: JSON.stringify(object), type: 'application/json' }, signal);
  }

  /** JSON merge patch (RFC 7386). Retried when the answer is lost, so the patch must name its `resourceVersion`. */
  mergePatch(path: string, patch: unknown, signal: AbortSignal): Promise<KubernetesAnswer> {
    const body = JSON.stringify(patch);
    return this.call({ method: 'PATCH', path, body, type: 'application/merge-patch+json' }, signal);
  }

  /** @throws RulesTargetUnavailable when there is no answer */
  private async call(request: KubernetesRequest, signal: AbortSignal): Promise<KubernetesAnswer> {
    const repeated: Record<Trouble, number> = { busy: 0, broken: 0, silent: 0, unauthorized: 0 };
    for (;;) {
      const response = await this.once(request, signal);
      const trouble = troubleOf(response);
      if (trouble === null || repeated[trouble] === REPEATS[trouble]) return answerOf(response);
      const wait = trouble === 'unauthorized' ? 0 : (retryAfterMs(response) ?? FIRST_PAUSE_MS * 2 ** repeated[trouble]);
      repeated[trouble] += 1;
      await this.timers.wait(wait, signal).catch(() => {
        throw outOfTime();
      });
    }
  }

  private async once(
    { method, path, body, type }: KubernetesRequest,
    signal: AbortSignal,
  ): Promise<AxiosResponse<string> | NoAnswer> {
    const deadline = AbortSignal.timeout(this.callMs);
    const [token, agent] = await Promise.all([this.token(), this.agent()]);
    try {
      return await axios.request<string>({
        method,
        url: this.settings.apiUrl.replace(/\/$/, '') + path,
        headers: {
          Authorization: `Bearer ${token}`,
          Accept: 'application/json',
          'User-Agent': USER_AGENT,
          ...(type === undefined ? {} : { 'Content-Type': type }),
        },
        ...(body === undefined ? {} : { data: body }),
        ...(agent === null ? {} : { httpsAgent: agent }),
        signal: AbortSignal.any([signal, deadline]),
        responseType: 'text',
        transformResponse: (text: string) => text,
        validateStatus: () => true,
        maxRedirects: 0,
        proxy: false,
        maxContentLength: ANSWER_MAX_BYTES,
      });
    } catch (failure) {
      if (signal.aborted) throw outOfTime();
      if (isAxiosError(failure)) return deadline.aborted ? 'silent' : 'lost';
      throw failure;
    }
  }

  private async token(): Promise<string> {
    const token = (await this.file(this.settings.tokenFile)).trim();
    // The alphabet of RFC 6750: with any other character, axios throws an error that quotes the token.
    if (!/^[\w.~+/-]+=*$/.test(token)) throw misconfigured(`${this.settings.tokenFile} holds no token`);
    return token;
  }

  private async agent(): Promise<Agent | null> {
    if (!this.settings.apiUrl.startsWith('https:')) return null;
    const ca = await this.file(this.settings.caFile);
    if (this.tls?.ca !== ca) {
      this.tls?.agent.destroy();
      this.tls = { ca, agent: new Agent({ ca, keepAlive: true, maxSockets: 2 }) };
    }
    return this.tls.agent;
  }

  private async file(path: string): Promise<string> {
    try {
      return await readFile(path, 'utf8');
    } catch {
      throw misconfigured(`${path} cannot be read`);
    }
  }
}

function troubleOf(response: AxiosResponse | NoAnswer): Trouble | null {
  if (response === 'silent') return response;
  if (response === 'lost' || response.status === 429 || response.status === 503) return 'busy';
  if (response.status === 500) return 'broken';
  return response.status === 401 ? 'unauthorized' : null;
}

function answerOf(response: AxiosResponse<string> | NoAnswer): KubernetesAnswer {
  if (typeof response === 'string')
    throw new RulesTargetUnavailable('unreachable', 'the Kubernetes API server does not answer');
  const auditId: unknown = response.headers['audit-id'];
  return {
    status: response.status,
    body: jsonOf(response.data),
    auditId: typeof auditId === 'string' ? auditId : null,
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function retryAfterMs(response: AxiosResponse | NoAnswer): number | null {
  const seconds = Number(typeof response === 'string' ? Number.NaN : response.headers['retry-after']);
  return Number.isInteger(seconds) && seconds >= 0 ? seconds * 1000 : null;
}

function outOfTime(): RulesTargetUnavailable {
  return new RulesTargetUnavailable('timeout', 'the Kubernetes API server did not answer in the time a run has for it');
}

function misconfigured(message: string): RulesTargetUnavailable {
  return new RulesTargetUnavailable('misconfigured', message);
}
