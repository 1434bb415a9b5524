import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'yaml';

import { openStack } from '../stack.js';
import { CHART, HELMS, refusal, RELEASE, render, valuesFile } from './rendering.js';

const stack = openStack(process.env);
const DEFAULT = ['template', RELEASE, CHART, '--values', valuesFile('default')];
const NULL_MEANS_NONE =
  /^(replicaCount|(.*\.)?resources(\..*)?|podSecurityContext\..*|settings\.SERVICE_QUERY_JWT_CLIENT_ID)$/;
const SECRET = 'a-Planted/Secret+that-nobody-may-Read';

describe.each(HELMS)('%s', (helm) => {
  const set = (...values: string[]) =>
    refusal(stack, helm, [...DEFAULT, ...values.flatMap((value) => ['--set-json', value])]);

  it.each([
    ['replicaCont=2', 'replicaCont'],
    ['settings.ACL_METADATA_CATALOGUE="lake"', 'ACL_METADATA_CATALOGUE'],
    ['networkPolicy.enable=false', 'enable'],
    ['ingress.host="grantline.example.org"', 'host'],
    ['accessControl.configMap.create=false', 'create'],
    ['accessControl.configMap.data={"rules.json":"{}"}', 'data'],
    ['monitoring.serviceMonitor.enabled="yes"', 'enabled'],
    ['accessControl.admissionPolicy.action="Block"', 'action'],
    ['image.digest="sha256:abc"', 'digest'],
    ['settings.QUERY_MAX_SECONDS="soon"', 'QUERY_MAX_SECONDS'],
    ['podSecurityContext.runAsUser=0', 'runAsUser'],
    ['podSecurityContext.privileged=true', 'privileged'],
    ['sync.schedule="* * * *"', 'schedule'],
    ['service.type="LoadBalancer"', 'type'],
    ['podLabels={"app.kubernetes.io/component":"engine"}', 'app.kubernetes.io/component'],
    ['rbac.rules=[{"verbs":["*"]}]', 'rules'],
    ['settings=null', 'settings'],
    ['networkPolicy.database=null', 'database'],
    ['migration.enabled=null', 'enabled'],
    ['networkPolicy.database.ports=[]', 'ports'],
    ['image.tag="-1"', 'tag'],
    ['priorityClassName="high\\n      hostNetwork: true"', 'priorityClassName'],
    ['accessControl.admissionPolicy.breakGlassGroup="a\\" || true"', 'breakGlassGroup'],
    ['extraObjects=[{"apiVersion":"v1","kind":"ConfigMap","metadata":"mine"}]', 'metadata'],
  ])('refuses %s', async (value, named) => {
    expect(await set(value)).toContain(named);
  });

  it('takes whatever a parent chart shares', async () => {
    const more = ['--set-json', 'global={"anything":{"at":["all"]}}'];
    expect((await render(stack, 'default', { helm, more })).objects).not.toHaveLength(0);
  });

  it('names all missing values at once', async () => {
    const answer = await refusal(stack, helm, ['template', RELEASE, CHART]);
    for (const name of [
      ...['image.repository', 'settings.ACL_METADATA_CATALOG', 'settings.SERVICE_QUERY_HOST'],
      ...['settings.SERVICE_QUERY_JWT_ISSUER_URL', 'secrets.service', 'secrets.migration'],
    ]) {
      expect(answer).toContain(name);
    }
  });

  it.each([
    [['secrets.service.existingSecret=""'], 'secrets.service needs exactly one'],
    [['secrets.service.sealedSecret={"encryptedData":{"a":"short"}}'], 'encryptedData'],
    [['secrets.service.externalSecret={"secretStoreRef":{"name":"vault"},"remoteRefs":{"a":{"key":"b"}}}'], 'service'],
    [['ingress.enabled=true', 'ingress.hosts=["a.example.org"]'], 'networkPolicy.api.from is required'],
    [['monitoring.serviceMonitor.enabled=true'], 'networkPolicy.operations.from is required'],
    [['retiredRoute.enabled=true'], 'retiredRoute.url is required'],
    [['httpRoute.enabled=true'], 'httpRoute.parentRefs'],
    [['serviceAccount.create=false'], 'serviceAccount.name is required'],
  ])('refuses what does not fit together: %j', async (values, named) => {
    expect(await set(...values)).toContain(named);
  });

  it.each([
    'settings.AUTH_SECRET_KEY="$"',
    'settings.DATABASE_URL="$"',
    'settings.SERVICE_QUERY_JWT_CLIENT_SECRET="$"',
    'settings.SERVICE_QUERY_JWT_ISSUER_URL="https://user:$@idp.example.org"',
    'secrets.service.authSecretKey="$"',
    'secrets.service.existingSecret="$"',
    'secrets.service.keys.authSecretKey="$"',
    'secrets.service.externalSecret={"value":"$"}',
    'secrets.service.sealedSecret={"encryptedData":{"auth-secret-key":"$"}}',
    'secrets.service.sealedSecret={"data":{"auth-secret-key":"$"}}',
    'secrets.migration.databaseMigrationUrl="$"',
    'secret="$"',
    'extraEnv=[{"name":"AUTH_SECRET_KEY","value":"$"}]',
    'extraEnv=[{"name":"DATABASE_URL","value":"$"}]',
    'extraEnv=[{"name":"PROXY_PASSWORD","value":"$"}]',
    'extraEnv=[{"name":"HTTPS_PROXY","value":"http://user:$@proxy.example.org"}]',
    'extraObjects=[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"mine"},"stringData":{"key":"$"}}]',
    'retiredRoute.url="https://user:$@trino.example.org"',
    'extraContainers=[{"name":"a","image":"a","env":[{"name":"API_TOKEN","value":"$"}]}]',
    'extraInitContainers=[{"name":"a","image":"a","env":[{"name":"PROXY","value":"http://a:$@proxy.example.org"}]}]',
    'podAnnotations={"example.org/proxy":"http://user:$@proxy.example.org"}',
  ])('does not render the secret in %s', async (value) => {
    const answer = await set(value.replace('$', SECRET));
    expect(answer).not.toBe('');
  });

  it.each([
    'ingress.annotations={"nginx.ingress.kubernetes.io/server-snippet":"location / { proxy_pass http://trino.engine:8080; }"}',
    'ingress.annotations={"nginx.ingress.kubernetes.io/default-backend":"trino"}',
    'ingress.annotations={"nginx.ingress.kubernetes.io/mirror-target":"http://trino.engine:8080"}',
    'ingress.annotations={"alb.ingress.kubernetes.io/actions.trino":"{}"}',
    'ingress.annotations={"traefik.ingress.kubernetes.io/router.middlewares":"engine-trino@kubernetescrd"}',
    'ingress.annotations={"external-dns.alpha.kubernetes.io/target":"trino.example.org"}',
    'ingress.className="nginx\\n  defaultBackend: {service: {name: trino, port: {number: 8080}}}"',
    'ingress.backend={"service":{"name":"trino"}}',
    'ingress.hosts=["a.example.org/v1/statement"]',
    'ingress.paths=[{"path":"/v1/statement"}]',
    'httpRoute.rules=[{"backendRefs":[{"name":"trino","namespace":"engine","port":8080}]}]',
    'service.selector={"app.kubernetes.io/name":"trino"}',
    'service.externalName="trino.engine.svc"',
    'extraObjects=[{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"trino"}}]',
    'extraObjects=[{"apiVersion":"v1","kind":"Service","metadata":{"name":"trino"},"spec":{"type":"LoadBalancer"}}]',
    'extraObjects=[{"apiVersion":"v1","kind":"List","metadata":{"name":"trino"},"items":[]}]',
    'extraObjects=[{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"trino"}}]',
    'extraObjects=[{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"open","namespace":"engine"}}]',
    'extraObjects=[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"trino-access-control"},"data":{"rules.json":"{}"}}]',
    'extraObjects=[{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"more"}}]',
  ])('renders no way past Grantline: %s', async (value) => {
    expect(await set(value)).not.toBe('');
  });
});

interface ObjectSchema {
  type?: unknown;
  additionalProperties?: unknown;
  required?: string[];
  properties?: Record<string, ObjectSchema>;
}

// Null takes a default away, as `--reuse-values` does with those of a newer chart; a template would fail on it.
it('needs every default that a template reads', () => {
  const missing = (schema: ObjectSchema, values: Record<string, unknown>, path: string): string[] =>
    Object.entries(values).flatMap(([name, value]) => {
      const [here, inner] = [`${path}${name}`, schema.properties?.[name]];
      const isEmpty = value === '' || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
      if (isEmpty || NULL_MEANS_NONE.test(here)) return [];
      const own = schema.required?.includes(name) === true ? [] : [here];
      if (inner?.type !== 'object' || inner.additionalProperties !== false || inner.properties === undefined)
        return own;
      return [...own, ...missing(inner, value as Record<string, unknown>, `${here}.`)];
    });
  const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as ObjectSchema;
  const values = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as Record<string, unknown>;
  expect(missing(schema, values, '')).toEqual([]);
});
