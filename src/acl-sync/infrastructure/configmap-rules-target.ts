import { isUtf8 } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import { fieldOf, isObject, type JsonObject } from '../../kernel/json-reader.js';
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
  namedVersionOf,
} from '../domain/rules-target.js';
import type { KubernetesAnswer, KubernetesApi } from './kubernetes-api.js';

const RULES_KEY = 'rules.json';
const BACKUP_KEY = 'rules.json.bak';
const VERBS = ['get', 'patch'] as const;
const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const SELF_REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
/** The limit for all values of a ConfigMap together, in UTF-8 bytes without keys (Kubernetes MaxSecretSize; verified on 1.36). */
const LIMIT_BYTES = 1_048_576;

/**
 * The ConfigMap that the engine's coordinator mounts. One merge patch with the `uid` and `resourceVersion` as read replaces the rules
 * and their backup at once. The chart creates the ConfigMap; this class never does.
 */
export class ConfigMapRulesTarget extends RulesTarget {
  override readonly name: string;
  override readonly key: string;
  override readonly limitBytes = LIMIT_BYTES;
  private readonly configMapPath: string;

  constructor(
    private readonly kubernetesApi: KubernetesApi,
    private readonly location: { namespace: string; name: string; key: string },
    private readonly log: Log,
  ) {
    super();
    this.name = `configmap ${location.namespace}/${location.name}`;
    this.key = location.key;
    this.configMapPath = `/api/v1/namespaces/${encodeURIComponent(location.namespace)}/configmaps/${encodeURIComponent(location.name)}`;
  }

  override async read(signal: AbortSignal): Promise<LiveRules> {
    const configMap = await this.readConfigMap(signal);
    return {
      ...rulesOf(configMap),
      ...namedVersionOf(configMap.annotations),
      revision: `${configMap.uid}/${configMap.resourceVersion}`,
    };
  }

  override async checkAccess(signal: AbortSignal): Promise<TargetAccess> {
    const allowedFlags = await Promise.all(VERBS.map((verb) => this.allows(verb, signal)));
    const missingRights = VERBS.filter((_, index) => !allowedFlags[index]);
    if (missingRights.length > 0) return { kind: 'denied', missingRights, identity: await this.readIdentity(signal) };
    const { immutable } = await this.readConfigMap(signal);
    if (immutable) throw new RulesTargetUnavailable('immutable', `${this.name} is immutable`);
    return { kind: 'granted' };
  }

  override async publish(next: NextRules, live: LiveRules, signal: AbortSignal): Promise<void> {
    const [uid, resourceVersion] = live.revision.split('/');
    const formerEntry = this.formerEntry(next, live);
    const patch = {
      metadata: { uid, resourceVersion, annotations: versionAnnotations(next) },
      // Kubernetes allows a key in only one of the two maps, so a key that is set in one is removed from the other.
      data: { [RULES_KEY]: next.text, ...formerEntry.data },
      binaryData: { [RULES_KEY]: null, ...formerEntry.binaryData },
    };
    const answer = await this.kubernetesApi.mergePatch(`${this.configMapPath}?fieldManager=grantline`, patch, signal);
    if (answer.status === 200) {
      // The answer is checked, because a proxy can answer 200, and an admission webhook can change a patch.
      if (rulesOf(this.configMapIn(answer)).text !== next.text) throw this.unavailableError(answer, NO_CONFIG_MAP);
      return;
    }
    const refusal = parseRefusal(answer.body);
    if (answer.status === 409 || refusal.causes.some(({ field }) => field === 'metadata.uid'))
      throw new RulesTargetMoved();
    throw this.unavailableError(answer, refusal);
  }

  private async readConfigMap(signal: AbortSignal): Promise<ConfigMap> {
    const answer = await this.kubernetesApi.get(this.configMapPath, signal);
    if (answer.status !== 200) throw this.unavailableError(answer, parseRefusal(answer.body));
    return this.configMapIn(answer);
  }

  private configMapIn(answer: KubernetesAnswer): ConfigMap {
    const map = parseConfigMap(answer.body);
    if (map === null) throw this.unavailableError(answer, NO_CONFIG_MAP);
    return map;
  }

  /** Whether a verb is allowed, by an access review, which needs no rights. If the review gets no answer, the verb counts as allowed. */
  private async allows(verb: string, signal: AbortSignal): Promise<boolean> {
    const { namespace, name } = this.location;
    const { body } = await this.kubernetesApi.create(
      ACCESS_REVIEWS,
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { namespace, name, verb, resource: 'configmaps' } },
      },
      signal,
    );
    return fieldOf(fieldOf(body, 'status'), 'allowed') !== false;
  }

  private async readIdentity(signal: AbortSignal): Promise<string | null> {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const { body } = await this.kubernetesApi.create(SELF_REVIEWS, review, signal);
    const name = fieldOf(fieldOf(fieldOf(body, 'status'), 'userInfo'), 'username');
    return typeof name === 'string' ? name.slice(0, 253) : null;
  }

  /** Backs up the previous text, unless there was none or the new text is the same. The backup is compressed if both texts together exceed LIMIT_BYTES. */
  private formerEntry(next: NextRules, { text, bytes }: LiveRules): { data: object; binaryData: object } {
    if (text === null || text === next.text) return { data: {}, binaryData: {} };
    const formerBytes = bytes ?? Buffer.from(text);
    const fits = Buffer.byteLength(next.text) + formerBytes.length <= LIMIT_BYTES;
    if (fits && bytes === undefined) return { data: { [BACKUP_KEY]: text }, binaryData: { [BACKUP_KEY]: null } };
    if (!fits)
      this.log.info('former rules are kept compressed', { key: `binaryData.${BACKUP_KEY}`, limit_bytes: LIMIT_BYTES });
    const backup = fits ? formerBytes : gzipSync(formerBytes);
    return { data: { [BACKUP_KEY]: null }, binaryData: { [BACKUP_KEY]: backup.toString('base64') } };
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
  const failureByStatus: Record<number, TargetFailure> = { 401: 'unauthorized', 403: 'forbidden', 404: 'missing' };
  return failureByStatus[status] ?? (status === 429 || status >= 500 ? 'unreachable' : 'rejected');
}

/** The live rules, also from `binaryData`, where an edit by hand may put them: the engine's mount contains the keys of both maps. */
function rulesOf({ data, binaryData }: ConfigMap): Pick<LiveRules, 'text' | 'bytes'> {
  const [text, encoded] = [data[RULES_KEY], binaryData[RULES_KEY]];
  if (typeof text === 'string') return { text };
  if (typeof encoded !== 'string') return { text: null };
  const bytes = Buffer.from(encoded, 'base64');
  return { text: bytes.toString('utf8'), ...(isUtf8(bytes) ? {} : { bytes }) };
}

interface ConfigMap {
  uid: string;
  resourceVersion: string;
  annotations: JsonObject;
  data: JsonObject;
  binaryData: JsonObject;
  immutable: boolean;
}

/** The API server's `Status` of a refusal, without its message, which can quote the whole object with its row filters. */
interface Refusal {
  reason: string;
  causes: { reason: string; field: string }[];
}

const NO_CONFIG_MAP: Refusal = { reason: 'NoConfigMap', causes: [] };

/** Parses a ConfigMap; null: the body is no ConfigMap. An empty ConfigMap has no `data` at all (verified on 1.36). */
function parseConfigMap(body: unknown): ConfigMap | null {
  const metadata = fieldOf(body, 'metadata');
  const uid = fieldOf(metadata, 'uid');
  const resourceVersion = fieldOf(metadata, 'resourceVersion');
  if (typeof uid !== 'string' || typeof resourceVersion !== 'string') return null;
  const [data, binaryData] = [recordOf(body, 'data'), recordOf(body, 'binaryData')];
  const annotations = recordOf(metadata, 'annotations');
  return { uid, resourceVersion, annotations, data, binaryData, immutable: fieldOf(body, 'immutable') === true };
}

function parseRefusal(body: unknown): Refusal {
  const causes = fieldOf(fieldOf(body, 'details'), 'causes');
  return {
    reason: shortIdentifier(fieldOf(body, 'reason')),
    causes: (Array.isArray(causes) ? causes : []).map((cause: unknown) => ({
      reason: shortIdentifier(fieldOf(cause, 'reason')),
      field: shortIdentifier(fieldOf(cause, 'field')),
    })),
  };
}

function recordOf(value: unknown, name: string): JsonObject {
  const member = fieldOf(value, name);
  return isObject(member) ? member : {};
}

/** The value if it is a short identifier, such as a reason or a field path; other text is not shown. */
function shortIdentifier(value: unknown): string {
  return typeof value === 'string' && /^[\w.[\]-]{1,100}$/.test(value) ? value : 'unknown';
}
