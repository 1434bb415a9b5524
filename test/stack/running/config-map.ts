import type { Kubectl } from './kubectl.js';

/** The ConfigMap of the rules, empty until the first publication. */
export const RULES_NAMESPACE = 'engine';
export const RULES_CONFIGMAP = 'trino-access-control';

export interface ConfigMap {
  resourceVersion: string;
  annotations: Record<string, string>;
  data: Record<string, string>;
  binaryData: Record<string, string>;
}

/** The ConfigMap with the rules, as it is now. */
export async function rulesConfigMap(kubectl: Kubectl): Promise<ConfigMap> {
  const text = await kubectl('get', 'configmap', RULES_CONFIGMAP, `--namespace=${RULES_NAMESPACE}`, '--output=json');
  const { metadata, data, binaryData } = JSON.parse(text) as {
    metadata: { resourceVersion: string; annotations?: Record<string, string> };
    data?: Record<string, string>;
    binaryData?: Record<string, string>;
  };
  return {
    resourceVersion: metadata.resourceVersion,
    annotations: metadata.annotations ?? {},
    data: data ?? {},
    binaryData: binaryData ?? {},
  };
}

/** Writes a text in place of the rules, as an edit by hand does. */
export async function editRules(kubectl: Kubectl, text: string): Promise<void> {
  const patch = `--patch=${JSON.stringify({ data: { 'rules.json': text } })}`;
  await kubectl('patch', 'configmap', RULES_CONFIGMAP, `--namespace=${RULES_NAMESPACE}`, '--type=merge', patch);
}

/** Makes the ConfigMap as empty as the chart made it: what one database published would be newer than all versions of the next one. */
export async function emptyRules(kubectl: Kubectl): Promise<void> {
  const { annotations } = await rulesConfigMap(kubectl);
  const ours = Object.keys(annotations).filter((name) => name.startsWith('grantline.io/'));
  const removed = Object.fromEntries(ours.map((name) => [name, null]));
  const patch = `--patch=${JSON.stringify({ metadata: { annotations: removed }, data: null, binaryData: null })}`;
  await kubectl('patch', 'configmap', RULES_CONFIGMAP, `--namespace=${RULES_NAMESPACE}`, '--type=merge', patch);
}
