import { readFile } from 'node:fs/promises';
import { jsonOrNull } from '../../kernel/json-reader.js';
import type { Timers } from '../../kernel/clock.js';
import {
  AxiosExchange,
  LateAnswer,
  LostConnection,
  OversizedReply,
  type Question,
  type Reply,
  UnreadableAuthorities,
  readRetryAfter,
  retryPause,
} from '../../platform/http/axios-exchange.js';
import type { Settings } from '../../platform/settings/settings.js';
import { RulesTargetUnavailable } from '../domain/rules-target.js';

type ConfigMapTarget = Extract<Settings['acl']['target'], { kind: 'configmap' }>;

export interface KubernetesAnswer {
  status: number;
  /** Untrusted JSON; null: no body, or not JSON. */
  body: unknown;
  /** Id of the request in the API server's audit log. */
  auditId: string | null;
}

/** The connection was lost or refused, or the call's deadline passed. */
type NoAnswer = 'lost' | 'silent';

interface KubernetesRequest extends Pick<Question, 'method' | 'body'> {
  path: string;
  type?: string;
}

/** Retries after the first try, by kind of failure. The API server also answers 500 to faults of the caller. */
const REPEATS = { busy: 4, broken: 1, silent: 1, unauthorized: 1 };
type Trouble = keyof typeof REPEATS;
const CALL_MS = 10_000;
const FIRST_PAUSE_MS = 250;
const ANSWER_MAX_BYTES = 8 * 1024 * 1024;

/**
 * Requests to the Kubernetes API server: keep-alive, a deadline for every call, bounded retries, and the
 * token read from its file each time, because a kubelet replaces it.
 */
export class KubernetesApi {
  private readonly exchange: AxiosExchange;

  /** @param callMs milliseconds for one call. A server that does not answer two of them counts as down */
  constructor(
    private readonly settings: Pick<ConfigMapTarget, 'apiUrl' | 'caFile' | 'tokenFile'>,
    private readonly timers: Timers,
    private readonly callMs = CALL_MS,
  ) {
    this.exchange = new AxiosExchange(ANSWER_MAX_BYTES, { maxSockets: 2, caFile: settings.caFile });
  }

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
      const response = await this.sendOnce(request, signal);
      const trouble = troubleOf(response);
      if (trouble === null || repeated[trouble] === REPEATS[trouble]) return answerOf(response);
      repeated[trouble] += 1;
      const asked = typeof response === 'string' ? null : readRetryAfter(response.headers['retry-after']);
      const wait = trouble === 'unauthorized' ? 0 : retryPause(repeated[trouble], asked, FIRST_PAUSE_MS);
      await this.timers.wait(wait, signal).catch(() => {
        throw outOfTime();
      });
    }
  }

  private async sendOnce(request: KubernetesRequest, signal: AbortSignal): Promise<Reply | NoAnswer> {
    const { path, type, ...asked } = request;
    const token = await this.readToken();
    const headers = {
      Authorization: `Bearer ${token}`,
      Accept: 'application/json',
      ...(type === undefined ? {} : { 'Content-Type': type }),
    };
    const url = this.settings.apiUrl.replace(/\/$/, '') + path;
    try {
      return await this.exchange.send({ ...asked, url, headers, timeout: this.callMs, signal });
    } catch (failure) {
      if (signal.aborted) throw outOfTime();
      if (failure instanceof UnreadableAuthorities) throw misconfigured(`${failure.message} cannot be read`);
      if (failure instanceof LateAnswer) return 'silent';
      if (failure instanceof LostConnection || failure instanceof OversizedReply) return 'lost';
      throw failure;
    }
  }

  private async readToken(): Promise<string> {
    const { tokenFile } = this.settings;
    const token = await readFile(tokenFile, 'utf8').catch(() => {
      throw misconfigured(`${tokenFile} cannot be read`);
    });
    // The alphabet of RFC 6750: with any other character, axios throws an error that quotes the token.
    if (!/^[\w.~+/-]+=*$/.test(token.trim())) throw misconfigured(`${tokenFile} holds no token`);
    return token.trim();
  }
}

function troubleOf(response: Reply | NoAnswer): Trouble | null {
  if (response === 'silent') return response;
  if (response === 'lost' || response.status === 429 || response.status === 503) return 'busy';
  if (response.status === 500) return 'broken';
  return response.status === 401 ? 'unauthorized' : null;
}

function answerOf(response: Reply | NoAnswer): KubernetesAnswer {
  if (typeof response === 'string')
    throw new RulesTargetUnavailable('unreachable', 'the Kubernetes API server does not answer');
  const { status, headers, body } = response;
  return { status, body: jsonOrNull(body.toString()), auditId: headers['audit-id'] ?? null };
}

function outOfTime(): RulesTargetUnavailable {
  return new RulesTargetUnavailable('timeout', 'the Kubernetes API server did not answer in the time a run has for it');
}

function misconfigured(message: string): RulesTargetUnavailable {
  return new RulesTargetUnavailable('misconfigured', message);
}
