import { readFile } from 'node:fs/promises';
import { jsonOrNull } from '../../kernel/json-reader.js';
import type { Timers } from '../../kernel/clock.js';
import {
  AxiosExchange,
  LateAnswer,
  LostConnection,
  OversizedReply,
  type HttpRequest,
  type Reply,
  UnreadableCaFile,
  readRetryAfter,
  retryPause,
} from '../../platform/http/axios-exchange.js';
import type { ConfigMapSettings } from '../../platform/settings/target-settings.js';
import { RulesTargetUnavailable } from '../domain/rules-target.js';

export interface KubernetesAnswer {
  status: number;
  /** Untrusted JSON; null: no body, or not JSON. */
  body: unknown;
  /** Id of the request in the API server's audit log. */
  auditId: string | null;
}

/** `lost`: the connection was lost or refused. `silent`: the call's deadline passed. */
type MissingAnswer = 'lost' | 'silent';

interface KubernetesRequest extends Pick<HttpRequest, 'method' | 'body'> {
  path: string;
  type?: string;
}

/** The most retries by kind of failure. `broken` has few, because the API server also answers 500 to faults of the caller. */
const MAX_RETRIES = { busy: 4, broken: 1, silent: 1, unauthorized: 1 };
type RetryCause = keyof typeof MAX_RETRIES;
const CALL_TIMEOUT_MS = 10_000;
const FIRST_PAUSE_MS = 250;
const ANSWER_MAX_BYTES = 8 * 1024 * 1024;

/**
 * Requests to the Kubernetes API server: keep-alive, a deadline for every call, bounded retries, and the
 * token read from its file each time, because a kubelet replaces it.
 */
export class KubernetesApi {
  private readonly exchange: AxiosExchange;

  /** @param callTimeoutMs the deadline of one call in milliseconds. A server that answers neither a call nor its retry counts as down */
  constructor(
    private readonly settings: Pick<ConfigMapSettings, 'apiUrl' | 'caFile' | 'tokenFile'>,
    private readonly timers: Timers,
    private readonly callTimeoutMs = CALL_TIMEOUT_MS,
  ) {
    this.exchange = new AxiosExchange(ANSWER_MAX_BYTES, { maxSockets: 2, caFile: settings.caFile });
  }

  get(path: string, signal: AbortSignal): Promise<KubernetesAnswer> {
    return this.send({ method: 'GET', path }, signal);
  }

  /** POST of an object that the server does not store, such as a review: retried when the answer is lost. */
  create(path: string, object: unknown, signal: AbortSignal): Promise<KubernetesAnswer> {
    return this.send({ method: 'POST', path, body: JSON.stringify(object), type: 'application/json' }, signal);
  }

  /** JSON merge patch (RFC 7386). Retried when the answer is lost, so the patch must name its `resourceVersion`. */
  mergePatch(path: string, patch: unknown, signal: AbortSignal): Promise<KubernetesAnswer> {
    const body = JSON.stringify(patch);
    return this.send({ method: 'PATCH', path, body, type: 'application/merge-patch+json' }, signal);
  }

  /** Sends a request, with retries. @throws RulesTargetUnavailable if there is no answer */
  private async send(request: KubernetesRequest, signal: AbortSignal): Promise<KubernetesAnswer> {
    const retries: Record<RetryCause, number> = { busy: 0, broken: 0, silent: 0, unauthorized: 0 };
    for (;;) {
      const response = await this.sendOnce(request, signal);
      const retryCause = retryCauseOf(response);
      if (retryCause === null || retries[retryCause] === MAX_RETRIES[retryCause]) return answerOf(response);
      retries[retryCause] += 1;
      const retryAfter = typeof response === 'string' ? null : readRetryAfter(response.headers['retry-after']);
      const pauseMs = retryCause === 'unauthorized' ? 0 : retryPause(retries[retryCause], retryAfter, FIRST_PAUSE_MS);
      await this.timers.wait(pauseMs, signal).catch(() => {
        throw timeoutError();
      });
    }
  }

  private async sendOnce(request: KubernetesRequest, signal: AbortSignal): Promise<Reply | MissingAnswer> {
    const { path, type, ...asked } = request;
    const token = await this.readToken();
    const headers = {
      Authorization: `Bearer ${token}`,
      Accept: 'application/json',
      ...(type === undefined ? {} : { 'Content-Type': type }),
    };
    const url = this.settings.apiUrl.replace(/\/$/, '') + path;
    try {
      return await this.exchange.send({ ...asked, url, headers, timeout: this.callTimeoutMs, signal });
    } catch (failure) {
      if (signal.aborted) throw timeoutError();
      if (failure instanceof UnreadableCaFile) throw misconfiguredError(`${failure.message} cannot be read`);
      if (failure instanceof LateAnswer) return 'silent';
      if (failure instanceof LostConnection || failure instanceof OversizedReply) return 'lost';
      throw failure;
    }
  }

  private async readToken(): Promise<string> {
    const { tokenFile } = this.settings;
    const token = await readFile(tokenFile, 'utf8').catch(() => {
      throw misconfiguredError(`${tokenFile} cannot be read`);
    });
    // The alphabet of RFC 6750: with any other character, axios throws an error that quotes the token.
    if (!/^[\w.~+/-]+=*$/.test(token.trim())) throw misconfiguredError(`${tokenFile} holds no token`);
    return token.trim();
  }
}

function retryCauseOf(response: Reply | MissingAnswer): RetryCause | null {
  if (response === 'silent') return response;
  if (response === 'lost' || response.status === 429 || response.status === 503) return 'busy';
  if (response.status === 500) return 'broken';
  return response.status === 401 ? 'unauthorized' : null;
}

function answerOf(response: Reply | MissingAnswer): KubernetesAnswer {
  if (typeof response === 'string')
    throw new RulesTargetUnavailable('unreachable', 'the Kubernetes API server does not answer');
  const { status, headers, body } = response;
  return { status, body: jsonOrNull(body.toString()), auditId: headers['audit-id'] ?? null };
}

function timeoutError(): RulesTargetUnavailable {
  return new RulesTargetUnavailable('timeout', 'the Kubernetes API server did not answer in the time a run has for it');
}

function misconfiguredError(message: string): RulesTargetUnavailable {
  return new RulesTargetUnavailable('misconfigured', message);
}
