import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { OpaReportsStore } from '../acl-sync/opa-reports.store.js';
import { Clock } from '../kernel/clock.js';
import { NamedError, Refused } from '../kernel/errors.js';
import { bearerToken, SharedTokens } from '../platform/http/bearer-token.js';
import { isTypeIn, readBytes } from '../platform/http/body-limits.js';
import { OperationsRoutes } from '../platform/operations/operations-server.js';
import { Settings } from '../platform/settings/settings.js';
import { BundlesService } from './bundles.service.js';
import { DecisionLogService } from './decision-log.service.js';
import { readReport } from './domain/instance-report.js';
import { waitSeconds } from './domain/prefer.js';

/** Without this type OPA stops long polling (OPA, "Bundles": HTTP long polling). */
const BUNDLE_TYPE = 'application/vnd.openpolicyagent.bundles';

/** The most bytes of a report. Status reports have about 60 kB, decision logs 32 KiB by default. */
const MAX_REPORT_BYTES = 1024 * 1024;

/** The most reports that are received at the same time. Limits the memory of reports that arrive slowly. */
const REPORT_QUOTA = { name: 'opa-reports', limit: 32 };

const CLIENT_GONE = new NamedError('the client has gone');

/** The routes on the operations port from which OPA gets its bundle and to which it reports. */
@Injectable()
export class OpaRoutes implements OnModuleInit {
  private readonly tokens: SharedTokens;
  private receivedReportCount = 0;

  constructor(
    private readonly routes: OperationsRoutes,
    private readonly bundles: BundlesService,
    private readonly reports: OpaReportsStore,
    private readonly logs: DecisionLogService,
    private readonly clock: Clock,
    private readonly settings: Settings,
  ) {
    this.tokens = new SharedTokens(settings.acl.opa?.tokens ?? []);
  }

  onModuleInit(): void {
    this.addRoute('GET', '/api/opa/bundles/grantline.tar.gz', (request, reply) => this.answerBundle(request, reply));
    this.addRoute('POST', '/api/opa/status', (request, reply) => this.recordReport(request, reply));
    if (!this.settings.acl.decisionLogs.enabled) return;
    this.addRoute('POST', '/api/opa/logs', async (request, reply) => {
      await this.logs.count(await this.receive(request, 'gzip'));
      return reply.status(204).send();
    });
  }

  private addRoute(method: 'GET' | 'POST', url: string, handler: RouteHandlerMethod): void {
    this.routes.add({ method, url, onRequest: (request) => this.requireToken(request), handler });
  }

  /** Refuses a request without a configured token. Outside production the settings may have no tokens: every request is admitted. */
  private requireToken(request: FastifyRequest): Promise<void> {
    const token = bearerToken(request);
    if (!this.tokens.isEmpty && (token === null || !this.tokens.include(token)))
      throw new Refused('token_invalid', { detail: 'The token of OPA is missing, or another one.', reason: 'opa' });
    return Promise.resolve();
  }

  private async answerBundle({ headers, ip }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { prefer } = headers;
    const waitAbort = new AbortController();
    reply.raw.once('close', () => waitAbort.abort(CLIENT_GONE));
    const seconds = waitSeconds(typeof prefer === 'string' ? prefer : undefined);
    const { tag, archive } = await this.bundles.answer(headers['if-none-match'], seconds, waitAbort, ip);
    void reply.header('ETag', tag);
    return archive === null ? reply.status(304).send() : reply.type(BUNDLE_TYPE).send(archive);
  }

  private async recordReport(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const body = await this.receive(request);
    const report = readReport(parseJson(body), this.clock.now());
    if (report === null) {
      const detail = 'labels.instance, or else labels.id, must have 1 to 253 characters, none of them invisible.';
      throw new Refused('bad_request', { detail });
    }
    await this.reports.record(report);
    return reply.status(204).send();
  }

  /**
   * Reads the body of a report.
   * @throws Refused `unsupported_media_type`, `too_many_requests`, `payload_too_large`; `bad_request` for a body that ends early
   */
  private async receive(request: FastifyRequest, encoding?: 'gzip'): Promise<Buffer> {
    const { headers } = request;
    const isJson = isTypeIn(['application/json'], headers['content-type']);
    if (!isJson || headers['content-encoding']?.toLowerCase() !== encoding) throw new Refused('unsupported_media_type');
    if (this.receivedReportCount >= REPORT_QUOTA.limit)
      throw new Refused('too_many_requests', { quota: REPORT_QUOTA, retryAfter: 1 });
    this.receivedReportCount += 1;
    return readBytes(request, MAX_REPORT_BYTES).finally(() => (this.receivedReportCount -= 1));
  }
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch (cause) {
    throw new Refused('malformed_json', { cause });
  }
}
