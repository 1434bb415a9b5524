import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface ConfigMapObject {
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    annotations?: Record<string, string>;
  };
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
  immutable?: boolean;
}

interface Canned {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** Execute the request, then give this answer instead of the real one. */
  afterwards?: boolean;
  /** Close the connection instead of answering. */
  hangUp?: boolean;
}

const LIMIT_BYTES = 1_048_576;
const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const SELF_REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const PATH = '/api/v1/namespaces/engine/configmaps/trino-access-control';

/**
 * As much of a Kubernetes API server as one ConfigMap needs, answering as version 1.36 was seen to answer. The same contract
 * suite runs against the real one in `npm run test:stack`.
 */
export class FakeKubernetesApi {
  map: ConfigMapObject | null = null;
  /** Bearer tokens that are let in. */
  tokens = new Set(['token-1']);
  /** Verbs that the map is closed for. */
  denied = new Set<string>();
  /** Whether it answers reviews, as every released one does. */
  reviewing = true;
  /** What it was asked to review: neither among `requests`, nor held, nor answered by `instead`. */
  readonly reviews: Record<string, unknown>[] = [];
  /** Answers that replace the next ones. */
  instead: Canned[] = [];
  /** Requests are answered when this resolves. */
  held: Promise<void> = Promise.resolve();
  readonly requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];
  private version = 100;
  private readonly server: Server = createServer((request, response) => void this.serve(request, response));

  async listen(): Promise<string> {
    await new Promise<void>((ready) => this.server.listen(0, '127.0.0.1', ready));
    this.create();
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  /** A new, empty map, with a new uid. */
  create(): void {
    this.version += 1;
    this.map = {
      metadata: {
        name: 'trino-access-control',
        namespace: 'engine',
        uid: `uid-${this.version}`,
        resourceVersion: String(this.version),
      },
    };
  }

  /** What `kubectl edit` does. */
  edit(change: Pick<ConfigMapObject, 'data' | 'binaryData' | 'immutable'>): void {
    if (this.map === null) throw new Error('there is no map to edit');
    this.version += 1;
    this.map = { ...this.map, ...change, metadata: { ...this.map.metadata, resourceVersion: String(this.version) } };
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const { method = '', url = '', headers } = request;
    if ([ACCESS_REVIEWS, SELF_REVIEWS].includes(url)) {
      const { status, body: answer } = this.review(url, headers, body);
      response.writeHead(status, { 'content-type': 'application/json', 'audit-id': 'audit-7' });
      response.end(JSON.stringify(answer));
      return;
    }
    this.requests.push({ method, url, headers, body });
    await this.held;
    const canned = this.instead.shift();
    const real = canned === undefined || canned.afterwards === true ? this.answer(method, url, headers, body) : null;
    if (canned?.hangUp === true) {
      request.socket.destroy();
      return;
    }
    const answer = canned ?? real ?? refusal(500, 'InternalError');
    response.writeHead(answer.status, { 'content-type': 'application/json', 'audit-id': 'audit-7', ...answer.headers });
    response.end(JSON.stringify(answer.body ?? null));
  }

  private answer(method: string, url: string, headers: IncomingMessage['headers'], body: string): Canned {
    if (headers.authorization === undefined) return refusal(403, 'Forbidden');
    if (!this.tokens.has(headers.authorization.replace('Bearer ', ''))) return refusal(401, 'Unauthorized');
    const verb = method.toLowerCase();
    if (new URL(url, 'http://x').pathname !== PATH || this.denied.has(verb)) return refusal(403, 'Forbidden');
    if (this.map === null) return refusal(404, 'NotFound');
    if (method === 'GET') return { status: 200, body: this.map };
    if (method !== 'PATCH') return refusal(403, 'Forbidden');
    if (headers['content-type'] !== 'application/merge-patch+json') return refusal(415, 'UnsupportedMediaType');
    if (Buffer.byteLength(body) > 3 * LIMIT_BYTES) return refusal(413, 'RequestEntityTooLarge');
    return this.patch(this.map, JSON.parse(body) as Partial<ConfigMapObject>);
  }

  private review(url: string, headers: IncomingMessage['headers'], body: string): Canned {
    if (!this.reviewing) return refusal(404, 'NotFound');
    if (!this.tokens.has((headers.authorization ?? '').replace('Bearer ', ''))) return refusal(401, 'Unauthorized');
    if (headers['content-type'] !== 'application/json') return refusal(415, 'UnsupportedMediaType');
    if (url === SELF_REVIEWS) {
      return { status: 201, body: { status: { userInfo: { username: 'system:serviceaccount:portal:grantline' } } } };
    }
    const { spec } = JSON.parse(body) as { spec: { resourceAttributes: Record<string, unknown> } };
    this.reviews.push(spec.resourceAttributes);
    return { status: 201, body: { status: { allowed: !this.denied.has(String(spec.resourceAttributes['verb'])) } } };
  }

  private patch(map: ConfigMapObject, patch: Partial<ConfigMapObject>): Canned {
    const { uid, resourceVersion } = patch.metadata ?? {};
    if (resourceVersion !== undefined && !/^[0-9]+$/.test(resourceVersion)) return refusal(500, 'InternalError');
    if (resourceVersion !== undefined && resourceVersion !== map.metadata.resourceVersion)
      return refusal(409, 'Conflict');
    if (uid !== undefined && uid !== map.metadata.uid)
      return refusal(422, 'Invalid', 'FieldValueInvalid', 'metadata.uid');
    const data = merged(map.data, patch.data);
    const binaryData = merged(map.binaryData, patch.binaryData);
    const changed = JSON.stringify([data, binaryData]) !== JSON.stringify([map.data ?? {}, map.binaryData ?? {}]);
    if (changed && map.immutable === true) return refusal(422, 'Invalid', 'FieldValueForbidden', 'data');
    const twice = Object.keys(data).find((key) => key in binaryData);
    if (twice !== undefined) return refusal(422, 'Invalid', 'FieldValueInvalid', `data[${twice}]`);
    const texts = Object.values(data).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    const bytes = Object.values(binaryData).reduce((sum, text) => sum + Buffer.from(text, 'base64').length, texts);
    if (bytes > LIMIT_BYTES) return refusal(422, 'Invalid', 'FieldValueTooLong', '[]');
    this.version += 1;
    const annotations = { ...map.metadata.annotations, ...patch.metadata?.annotations };
    this.map = {
      ...(map.immutable === true ? { immutable: true } : {}),
      metadata: { ...map.metadata, annotations, resourceVersion: String(this.version) },
      ...(Object.keys(data).length === 0 ? {} : { data }),
      ...(Object.keys(binaryData).length === 0 ? {} : { binaryData }),
    };
    return { status: 200, body: this.map };
  }
}

/** JSON merge patch of a flat map: null takes a key away. */
function merged(map: Record<string, string> = {}, patch: Record<string, string | null> = {}): Record<string, string> {
  const entries = Object.entries({ ...map, ...patch });
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== null));
}

/** The message of a real 422 quotes the whole object; ours holds a word that must never be logged. */
function refusal(code: number, reason: string, cause?: string, field?: string): Canned {
  const causes = cause === undefined ? [] : [{ reason: cause, field, message: 'LIVE-RULES' }];
  return {
    status: code,
    body: { kind: 'Status', status: 'Failure', code, reason, message: 'LIVE-RULES', details: { causes } },
  };
}
