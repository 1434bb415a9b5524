/** The fields of a ConfigMap that Grantline reads. */
export interface ConfigMap {
  uid: string;
  resourceVersion: string;
  annotations: Record<string, unknown>;
  data: Record<string, unknown>;
  /** Base64. */
  binaryData: Record<string, unknown>;
  immutable: boolean;
}

/** The API server's `Status` of a refusal, without its message, which can quote the whole object, row filters included. */
export interface Refusal {
  reason: string;
  causes: { reason: string; field: string }[];
}

/** Null: this is no ConfigMap. An empty map has no `data` at all (verified on 1.36). */
export function parseConfigMap(body: unknown): ConfigMap | null {
  const metadata = memberOf(body, 'metadata');
  const uid = memberOf(metadata, 'uid');
  const resourceVersion = memberOf(metadata, 'resourceVersion');
  if (typeof uid !== 'string' || typeof resourceVersion !== 'string') return null;
  const [data, binaryData] = [recordOf(body, 'data'), recordOf(body, 'binaryData')];
  const annotations = recordOf(metadata, 'annotations');
  return { uid, resourceVersion, annotations, data, binaryData, immutable: memberOf(body, 'immutable') === true };
}

export function parseRefusal(body: unknown): Refusal {
  const causes = memberOf(memberOf(body, 'details'), 'causes');
  return {
    reason: wordOf(memberOf(body, 'reason')),
    causes: (Array.isArray(causes) ? causes : []).map((cause: unknown) => ({
      reason: wordOf(memberOf(cause, 'reason')),
      field: wordOf(memberOf(cause, 'field')),
    })),
  };
}

/** The answer to a SelfSubjectAccessReview; null: this is none. */
export function parseAccessReview(body: unknown): boolean | null {
  const allowed = memberOf(memberOf(body, 'status'), 'allowed');
  return typeof allowed === 'boolean' ? allowed : null;
}

/** The username in the answer to a SelfSubjectReview; null: this is none. */
export function parseSelfReview(body: unknown): string | null {
  const name = memberOf(memberOf(memberOf(body, 'status'), 'userInfo'), 'username');
  return typeof name === 'string' ? name.slice(0, 253) : null;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
}

function recordOf(value: unknown, name: string): Record<string, unknown> {
  const member = memberOf(value, name);
  return typeof member === 'object' && member !== null ? { ...member } : {};
}

/** Only short identifiers, as reasons and field paths are; anything else is not shown. */
function wordOf(value: unknown): string {
  return typeof value === 'string' && /^[\w.[\]-]{1,100}$/.test(value) ? value : 'unknown';
}
