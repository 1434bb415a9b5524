import { isUtf8 } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import type { Log } from '../../platform/log/log.js';
import {
  type LiveRules,
  type NextRules,
  RulesTarget,
  RulesTargetMoved,
  RulesTargetUnavailable,
  type TargetAccess,
  type TargetFailure,
  versionAnnotations,
  writtenOf,
} from '../domain/rules-target.js';
import type { KubernetesAnswer, KubernetesApi } from './kubernetes-api.js';

const RULES = 'rules.json';
const FORMER = 'rules.json.bak';
const VERBS = ['get', 'patch'] as const;
const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const SELF_REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
/** The limit for all values of a ConfigMap together, in UTF-8 bytes without keys (Kubernetes MaxSecretSize; verified on 1.36). */
const LIMIT_BYTES = 1_048_576;

/**
 * The ConfigMap that the engine's coordinator mounts. One merge patch with the `uid` and `resourceVersion` as read replaces both texts at
 * once. The chart creates the ConfigMap; this class never does.
 */
export class ConfigMapRulesTarget extends RulesTarget {
  override readonly name: string;
  override readonly limitBytes = LIMIT_BYTES;
  private readonly path: string;

  constructor(
    private readonly api: KubernetesApi,
    private readonly map: { namespace: string; name: string },
    private readonly log: Log,
  ) {
    super();
    this.name = `configmap ${map.namespace}/${map.name}`;
    this.path = `/api/v1/namespaces/${encodeURIComponent(map.namespace)}/configmaps/${encodeURIComponent(map.name)}`;
  }

  override async read(signal: AbortSignal): Promise<LiveRules> {
    const map = await this.readMap(signal);
    return { ...rulesOf(map), ...writtenOf(map.annotations), revision: `${map.uid}/${map.resourceVersion}` };
  }

  override async checkAccess(signal: AbortSignal): Promise<TargetAccess> {
    const allowed = await Promise.all(VERBS.map((verb) => this.allows(verb, signal)));
    const missing = VERBS.filter((_, at) => !allowed[at]);
    if (missing.length > 0) return { kind: 'denied', missing, identity: await this.readIdentity(signal) };
    const { immutable } = await this.readMap(signal);
    if (immutable) throw new RulesTargetUnavailable('immutable', `${this.name} is immutable`);
    return { kind: 'granted' };
  }

  override async publish(next: NextRules, live: LiveRules, signal: AbortSignal): Promise<void> {
    const [uid, resourceVersion] = live.revision.split('/');
    const former = this.formerEntry(next, live);
    const patch = {
      metadata: {
        uid,
        resourceVersion,
        annotations: versionAnnotations(next),
      },
      // A key may be in only one of the two maps, so each is removed from the other one.
      data: { [RULES]: next.text, ...former.data },
      binaryData: { [RULES]: null, ...former.binaryData },
    };
    const answer = await this.api.mergePatch(`${this.path}?fieldManager=grantline`, patch, signal);
    if (answer.status === 200) {
      this.confirmStored(answer, next);
      return;
    }
    const refusal = parseRefusal(answer.body);
    if (answer.status === 409 || refusal.causes.some(({ field }) => field === 'metadata.uid'))
      throw new RulesTargetMoved();
    throw this.unavailableError(answer, refusal);
  }

  /** Checks that the text was stored: a proxy can also answer 200, and an admission webhook can change a patch. */
  private confirmStored(answer: KubernetesAnswer, { text }: NextRules): void {
    const map = parseConfigMap(answer.body);
    if (map === null || rulesOf(map).text !== text)
      throw this.unavailableError(answer, { reason: 'NoConfigMap', causes: [] });
  }

  private async readMap(signal: AbortSignal): Promise<ConfigMap> {
    const answer = await this.api.get(this.path, signal);
    if (answer.status !== 200) throw this.unavailableError(answer, parseRefusal(answer.body));
    const map = parseConfigMap(answer.body);
    if (map === null) throw this.unavailableError(answer, { reason: 'NoConfigMap', causes: [] });
    return map;
  }

  /** Whether a verb is allowed, by a review, which needs no right itself. Without an answer it counts as allowed, and the request decides. */
  private async allows(verb: string, signal: AbortSignal): Promise<boolean> {
    const { namespace, name } = this.map;
    const { body } = await this.api.create(
      ACCESS_REVIEWS,
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { namespace, name, verb, resource: 'configmaps' } },
      },
      signal,
    );
    return memberOf(memberOf(body, 'status'), 'allowed') !== false;
  }

  private async readIdentity(signal: AbortSignal): Promise<string | null> {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const { body } = await this.api.create(SELF_REVIEWS, review, signal);
    const name = memberOf(memberOf(memberOf(body, 'status'), 'userInfo'), 'username');
    return typeof name === 'string' ? name.slice(0, 253) : null;
  }

  /** The entry for the previous text: unchanged if both fit, otherwise compressed; none if there was no text or it stays. */
  private formerEntry(next: NextRules, { text, bytes }: LiveRules): { data: object; binaryData: object } {
    if (text === null || text === next.text) return { data: {}, binaryData: {} };
    const former = bytes ?? Buffer.from(text);
    const fits = Buffer.byteLength(next.text) + former.length <= LIMIT_BYTES;
    if (fits && bytes === undefined) return { data: { [FORMER]: text }, binaryData: { [FORMER]: null } };
    if (!fits)
      this.log.info('former rules are kept compressed', { key: `binaryData.${FORMER}`, limit_bytes: LIMIT_BYTES });
    const kept = fits ? former : gzipSync(former);
    return { data: { [FORMER]: null }, binaryData: { [FORMER]: kept.toString('base64') } };
  }

  private unavailableError(answer: KubernetesAnswer, refusal: Refusal): RulesTargetUnavailable {
    const causes = refusal.causes.map(({ reason, field }) => `${reason} on ${field}`).join(', ');
    return new RulesTargetUnavailable(
      failureOf(answer.status, refusal),
      `${this.name}: ${answer.status} ${refusal.reason}${causes === '' ? '' : `, ${causes}`}`,
      answer.auditId,
    );
  }
}

function failureOf(status: number, refusal: Refusal): TargetFailure {
  const causes = refusal.causes.map(({ reason }) => reason);
  if (status === 413 || causes.includes('FieldValueTooLong')) return 'too-large';
  if (status === 422 && causes.includes('FieldValueForbidden')) return 'immutable';
  const byStatus: Record<number, TargetFailure> = { 401: 'unauthorized', 403: 'forbidden', 404: 'missing' };
  return byStatus[status] ?? (status === 429 || status >= 500 ? 'unreachable' : 'rejected');
}

/** The live rules, also from `binaryData`, where an edit by hand may put them: the engine's mount contains the keys of both maps. */
function rulesOf({ data, binaryData }: ConfigMap): Pick<LiveRules, 'text' | 'bytes'> {
  const [text, encoded] = [data[RULES], binaryData[RULES]];
  if (typeof text === 'string') return { text };
  if (typeof encoded !== 'string') return { text: null };
  const bytes = Buffer.from(encoded, 'base64');
  return { text: bytes.toString('utf8'), ...(isUtf8(bytes) ? {} : { bytes }) };
}

interface ConfigMap {
  uid: string;
  resourceVersion: string;
  annotations: Record<string, unknown>;
  data: Record<string, unknown>;
  binaryData: Record<string, unknown>;
  immutable: boolean;
}

/** The API server's `Status` of a refusal, without its message, which can quote the whole object with its row filters. */
interface Refusal {
  reason: string;
  causes: { reason: string; field: string }[];
}

/** Parses a ConfigMap; null: the body is none. An empty ConfigMap has no `data` at all (verified on 1.36). */
function parseConfigMap(body: unknown): ConfigMap | null {
  const metadata = memberOf(body, 'metadata');
  const uid = memberOf(metadata, 'uid');
  const resourceVersion = memberOf(metadata, 'resourceVersion');
  if (typeof uid !== 'string' || typeof resourceVersion !== 'string') return null;
  const [data, binaryData] = [recordOf(body, 'data'), recordOf(body, 'binaryData')];
  const annotations = recordOf(metadata, 'annotations');
  return { uid, resourceVersion, annotations, data, binaryData, immutable: memberOf(body, 'immutable') === true };
}

function parseRefusal(body: unknown): Refusal {
  const causes = memberOf(memberOf(body, 'details'), 'causes');
  return {
    reason: shortIdentifier(memberOf(body, 'reason')),
    causes: (Array.isArray(causes) ? causes : []).map((cause: unknown) => ({
      reason: shortIdentifier(memberOf(cause, 'reason')),
      field: shortIdentifier(memberOf(cause, 'field')),
    })),
  };
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
}

function recordOf(value: unknown, name: string): Record<string, unknown> {
  const member = memberOf(value, name);
  return typeof member === 'object' && member !== null ? { ...member } : {};
}

/** A short identifier, as reasons and field paths are. Other text is not shown. */
function shortIdentifier(value: unknown): string {
  return typeof value === 'string' && /^[\w.[\]-]{1,100}$/.test(value) ? value : 'unknown';
}
