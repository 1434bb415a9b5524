import { join, resolve } from 'node:path';
import { isObject } from '../../kernel/json-reader.js';
import type { Secret } from '../../kernel/secret.js';
import type { SettingsReader } from './settings-reader.js';

export type TargetSettings = { kind: 'file'; directory: string } | ConfigMapSettings;

export interface ConfigMapSettings {
  kind: 'configmap';
  /** The name of the target in the status and in metrics. */
  key: string;
  namespace: string;
  name: string;
  apiUrl: string;
  caFile: string;
  tokenFile: string;
}

/** Folder with a pod's credentials for the API of Kubernetes ("Accessing the API from a Pod"). */
const ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Settings of the bundle that OPA downloads. */
export interface OpaSettings {
  /** Tokens to read the bundle. Empty only outside production: then every client of the operations port can read the bundle. */
  tokens: readonly Secret[];
  /** A private key in PEM to sign the bundle. Null, only outside production: the bundle is not signed. */
  signingKey: Secret | null;
  /** Seconds within which each OPA instance must have had an answer to a request for its bundle; otherwise an alert fires. */
  maxAgeSeconds: number;
  /** Whether OPA is the first target in ACL_TARGET, so that the configured engine uses it. */
  isFirst: boolean;
}

interface TargetReaders {
  publishingReader: SettingsReader;
  httpReader: SettingsReader;
  isProduction: boolean;
  /** The folder of the service's data. Files with rules are written below it by default. */
  directory: string;
}

/** `targets`: files and ConfigMaps, in the order of ACL_TARGET. `opa`: settings of the bundle; null if ACL_TARGET has no `opa`. */
export function readTargets({ publishingReader: reader, httpReader, isProduction, directory }: TargetReaders) {
  const folder = reader.text('ACL_FILE_DIRECTORY');
  const configMaps = readConfigMaps(reader);
  const kinds = reader.choices('ACL_TARGET', ['file'], ['file', 'configmap', 'opa']);
  const targets = kinds.flatMap((kind): TargetSettings[] => {
    if (kind === 'file') return [{ kind, directory: folder === null ? join(directory, 'acl') : resolve(folder) }];
    return kind === 'configmap' ? configMaps.targets : [];
  });
  if (kinds.includes('configmap'))
    for (const [setting, message] of configMaps.problems) reader.report(setting, message);
  const areLogsEnabled = reader.flag('OPA_DECISION_LOGS_ENABLED', false);
  const retentionDays = reader.integer('OPA_DECISION_RETENTION_DAYS', 90, 1, 3650);
  const decisionLogs = { enabled: areLogsEnabled && kinds.includes('opa'), retentionDays };
  return { targets, opa: readOpa(httpReader, isProduction, kinds), decisionLogs };
}

function readOpa(reader: SettingsReader, isProduction: boolean, kinds: readonly string[]): OpaSettings | null {
  const key = 'OPA_BUNDLE_SIGNING_KEY_FILE';
  const tokens = reader.tokens('OPA_TOKEN');
  const signingKey = reader.signingKey(key);
  const maxAgeSeconds = reader.integer('OPA_MAX_AGE_SECONDS', 300, 120, 86_400);
  if (!kinds.includes('opa')) return null;
  const requiredSettings = { OPA_TOKEN: tokens[0], [key]: reader.text(key) };
  for (const [setting, value] of Object.entries(requiredSettings))
    if (isProduction && !value) reader.report(setting, 'is required in production with ACL_TARGET=opa');
  return { tokens, signingKey, maxAgeSeconds, isFirst: kinds[0] === 'opa' };
}

interface ConfigMaps {
  targets: ConfigMapSettings[];
  problems: [setting: string, what: string][];
}

function readConfigMaps(reader: SettingsReader): ConfigMaps {
  const file = reader.text('ACL_CONFIGMAP_TARGETS_FILE');
  const namedMaps = namedConfigMaps(reader);
  if (file === null) return checkDuplicates('ACL_CONFIGMAP_NAME', namedMaps);
  if (reader.text('ACL_CONFIGMAP_NAME') !== null)
    return { targets: [], problems: [['ACL_CONFIGMAP_TARGETS_FILE', 'and ACL_CONFIGMAP_NAME are both set']] };
  return checkDuplicates('ACL_CONFIGMAP_TARGETS_FILE', listedConfigMaps(reader.json('ACL_CONFIGMAP_TARGETS_FILE')));
}

/** ConfigMaps of the cluster in which the service runs, by ACL_CONFIGMAP_NAME. */
function namedConfigMaps(reader: SettingsReader): ConfigMaps {
  const commonNamespace = reader.text('ACL_CONFIGMAP_NAMESPACE');
  const names = reader.list('ACL_CONFIGMAP_NAME');
  const service = reader.text('KUBERNETES_SERVICE_HOST');
  const port = reader.text('KUBERNETES_SERVICE_PORT');
  const podApiUrl = service && `https://${service.includes(':') ? `[${service}]` : service}:${port ?? '443'}`;
  const apiUrl = reader.baseUrl('KUBERNETES_API_URL') ?? podApiUrl;
  const caFile = reader.text('KUBERNETES_CA_FILE') ?? `${ACCOUNT_FOLDER}/ca.crt`;
  const tokenFile = reader.text('KUBERNETES_TOKEN_FILE') ?? `${ACCOUNT_FOLDER}/token`;
  const problems: ConfigMaps['problems'] = [];
  const isList = names.length > 1 || names.some((each) => each.includes('/'));
  if (isList && commonNamespace !== null)
    problems.push(['ACL_CONFIGMAP_NAMESPACE', 'stands beside a list with namespaces']);
  const targets = (names.length === 0 ? [''] : names).map((each): ConfigMapSettings => {
    const [namespace = '', name = '', ...extraParts] = isList ? each.split('/') : [commonNamespace ?? '', each];
    if (isList && (namespace === '' || name === '' || extraParts.length > 0))
      problems.push(['ACL_CONFIGMAP_NAME', `holds ${JSON.stringify(each)}, which is no namespace/name`]);
    const key = `configmap:${namespace}/${name}`;
    return { kind: 'configmap', key, namespace, name, apiUrl: apiUrl ?? '', caFile, tokenFile };
  });
  const requiredSettings = {
    ACL_CONFIGMAP_NAMESPACE: isList || commonNamespace,
    ACL_CONFIGMAP_NAME: names[0],
    KUBERNETES_API_URL: apiUrl,
  };
  for (const [setting, value] of Object.entries(requiredSettings))
    if (!value) problems.push([setting, 'is required with ACL_TARGET=configmap']);
  return { targets, problems };
}

const FIELDS = ['name', 'namespace', 'configmap', 'url', 'ca_file', 'token_file'] as const;

/** ConfigMaps of any clusters. @param content the parsed content of ACL_CONFIGMAP_TARGETS_FILE */
function listedConfigMaps(content: unknown): ConfigMaps {
  const setting = 'ACL_CONFIGMAP_TARGETS_FILE';
  const withProblem = (message: string): ConfigMaps => ({ targets: [], problems: [[setting, message]] });
  if (content === null) return withProblem('points at a file that cannot be read, or holds no JSON');
  if (!Array.isArray(content) || content.length === 0) return withProblem('must hold a list of ConfigMaps');
  const targets: ConfigMapSettings[] = [];
  for (const [index, entry] of (content as unknown[]).entries()) {
    const fields = new Map<string, unknown>(isObject(entry) ? Object.entries(entry) : []);
    const [name = '', namespace = '', configmap = '', url = '', caFile = '', tokenFile = ''] = FIELDS.map((field) => {
      const value = fields.get(field);
      return typeof value === 'string' ? value : '';
    });
    const missingField = FIELDS.find((field) => typeof fields.get(field) !== 'string' || fields.get(field) === '');
    if (missingField !== undefined) return withProblem(`entry ${index + 1} needs a text in ${missingField}`);
    const unknownField = [...fields.keys()].find((field) => !FIELDS.some((knownField) => knownField === field));
    if (unknownField !== undefined)
      return withProblem(`entry ${index + 1} holds ${JSON.stringify(unknownField)}, which is unknown`);
    if (!/^https?:\/\//.test(url) || !URL.canParse(url)) return withProblem(`entry ${index + 1} needs a URL in url`);
    const apiUrl = url.replace(/\/+$/, '');
    const key = `configmap:${name}`;
    targets.push({ kind: 'configmap', key, namespace, name: configmap, apiUrl, caFile, tokenFile });
  }
  return { targets, problems: [] };
}

function checkDuplicates(setting: string, { targets, problems }: ConfigMaps): ConfigMaps {
  const repeatsIn = (values: string[]): string[] => values.filter((value, index) => values.indexOf(value) !== index);
  const repeatedKeys = repeatsIn(targets.map(({ key }) => key));
  const repeatedPlaces = repeatsIn(targets.map(({ apiUrl, namespace, name }) => `${apiUrl} ${namespace}/${name}`));
  const duplicates = repeatedKeys.length > 0 ? repeatedKeys : repeatedPlaces;
  for (const each of duplicates) problems.push([setting, `names ${each} twice`]);
  return { targets, problems };
}
