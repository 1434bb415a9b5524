import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'yaml';

import { openStack } from '../stack.js';
import { CHART, HELMS, refusal, RELEASE, render, valuesFile } from './rendering.js';

const stack = openStack(process.env);
const DEFAULT = ['template', RELEASE, CHART, '--values', valuesFile('default')];
const NULL_MEANS_NONE =
  /^(replicaCount|(.*\.)?resources(\..*)?|podSecurityContext\..*|lifecycle(\.preStop)?|updateStrategy\.rollingUpdate|autoscaling\.targetCPU.*|settings\.SERVICE_QUERY_JWT_CLIENT_ID)$/;
const CONFIG_MAP = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'company-ca' } };
const produced = (kind: string, spec: object) => ({ apiVersion: 'v1', kind, metadata: { name: 'made' }, spec });
const SECRET = 'a-Planted/Secret+that-nobody-may-Read';

describe.each(HELMS)('%s', (helm) => {
  const set = (...values: string[]) =>
    refusal(stack, helm, [...DEFAULT, ...values.flatMap((value) => ['--set-json', value])]);

  it.each([
    ['replicaCont=2', 'replicaCont'],
    ['nameOverride="a-name-of-21-characters"', 'nameOverride'],
    ['namespaceOverride="a.b"', 'namespaceOverride'],
    ['trustedCertificates.pem="/etc/ssl/ca.crt"', 'pem'],
    ['trustedCertificates.key=""', 'key'],
    ['commonAnnotations={"a":1}', 'commonAnnotations'],
    ['migration.podLabels={"app.kubernetes.io/component":"api"}', 'app.kubernetes.io/component'],
    ['livenessProbe.httpGet={"path":"/v1/statement"}', 'httpGet'],
    ['livenessProbe.periodSeconds=0', 'periodSeconds'],
    ['terminationGracePeriodSeconds=10', 'terminationGracePeriodSeconds'],
    ['updateStrategy.type="OnDelete"', 'type'],
    ['autoscaling.targetCPUUtilizationPercentage="80%"', 'targetCPUUtilizationPercentage'],
    ['dnsPolicy="ClusterFirstWithHostNet"', 'dnsPolicy'],
    ['hostAliases=[{"ip":"10.0.0.1"}]', 'hostnames'],
    ['monitoring.podMonitor.enabled=1', 'enabled'],
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

  it('names the ConfigMaps of several clusters by their file alone', async () => {
    const more = ['--set=settings.ACL_CONFIGMAP_TARGETS_FILE=/run/targets/targets.json'];
    const { text } = await render(stack, 'default', { helm, more });
    expect(text.match(/"ACL_CONFIGMAP_TARGETS_FILE"\n *value: "\/run\/targets\/targets\.json"/g)).toHaveLength(2);
    expect(text).not.toMatch(/ACL_CONFIGMAP_NAME/);
  });

  it('stops all that writes, also with an autoscaler, by the first upgrade of a restore', async () => {
    const guide = readFileSync(join(CHART, '..', '..', 'docs', 'operations.md'), 'utf8').split(
      '## Backup and restore',
    )[1];
    const [stop = ''] = /helm -n portal upgrade [^`]+/.exec(guide ?? '') ?? [];
    const more = [...stop.matchAll(/--set (\S+='[^']+'|\S+)/g)].map(
      ([, value = '']) => `--set=${value.replaceAll("'", '')}`,
    );
    const { objects } = await render(stack, 'everything', { helm, more });
    expect(objects.map(({ kind }) => kind)).not.toContain('HorizontalPodAutoscaler');
    expect(objects.find(({ kind }) => kind === 'Deployment')?.spec).toMatchObject({ replicas: 0 });
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
    [
      ['trustedCertificates.existingSecret="a"', 'trustedCertificates.existingConfigMap="b"'],
      'trustedCertificates needs at most one of pem, existingConfigMap and existingSecret; it has 2',
    ],
    [
      ['trustedCertificates.existingSecret="a"', 'extraEnv=[{"name":"NODE_EXTRA_CA_CERTS","value":"/etc/ca.crt"}]'],
      'extraEnv must not hold NODE_EXTRA_CA_CERTS',
    ],
    [['monitoring.podMonitor.enabled=true'], 'networkPolicy.operations.from is required'],
    [
      ['monitoring.podMonitor.enabled=true', 'monitoring.serviceMonitor.enabled=true'],
      'monitoring needs one of serviceMonitor and podMonitor',
    ],
    [['autoscaling.enabled=true', 'autoscaling.minReplicas=6'], 'autoscaling.maxReplicas must not be below'],
    [
      ['autoscaling.enabled=true', 'autoscaling.targetCPUUtilizationPercentage=null'],
      'autoscaling needs targetCPUUtilizationPercentage or',
    ],
    [['secrets.service.keys.opaToken="a"'], 'needs both of opaToken and opaSigningKey, or none'],
    [['secrets.service.keys.opaSigningKey="a"'], 'needs both of opaToken and opaSigningKey, or none'],
    [['accessControl.engine="opa"'], 'accessControl.engine: opa needs secrets.service.keys.opaToken'],
    [['accessControl.rulesFile=false'], 'accessControl.rulesFile is false: accessControl.engine must be opa'],
    [
      [
        'settings.ACL_CONFIGMAP_TARGETS_FILE="/t.json"',
        'accessControl.furtherConfigMaps=[{"namespace":"b","name":"c"}]',
      ],
      'settings.ACL_CONFIGMAP_TARGETS_FILE lists all ConfigMaps',
    ],
    [['settings.SERVICE_QUERY_HOST=null'], 'settings.SERVICE_QUERY_HOST is required while'],
    [['lifecycle.preStop.sleep.seconds=30'], 'terminationGracePeriodSeconds must be at least 50'],
  ])('refuses what does not fit together: %j', async (values, named) => {
    expect(await set(...values)).toContain(named);
  });

  // The first install would wait for it until its deadline.
  it.each<[string, string, object]>([
    ['ConfigMap/company-ca', 'extraVolumes=[{"name":"a","configMap":{"name":"company-ca"}}]', CONFIG_MAP],
    ['ConfigMap/company-ca', 'trustedCertificates.existingConfigMap="company-ca"', CONFIG_MAP],
    [
      'ConfigMap/company-ca',
      'extraVolumes=[{"name":"a","projected":{"sources":[{"configMap":{"name":"company-ca"}}]}}]',
      CONFIG_MAP,
    ],
    [
      'ConfigMap/company-ca',
      'extraEnv=[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"company-ca","key":"a"}}}]',
      CONFIG_MAP,
    ],
    [
      'Secret/owner',
      'secrets.migration.existingSecret="owner"',
      produced('ExternalSecret', { target: { name: 'owner' } }),
    ],
    ['Secret/made', 'secrets.migration.existingSecret="made"', produced('SealedSecret', {})],
    ['Secret/pull', 'imagePullSecrets=[{"name":"pull"}]', produced('Certificate', { secretName: 'pull' })],
  ])('refuses that the migration needs %s, by %s, before extraObjects make it', async (needed, value, object) => {
    const extraObjects = (...objects: object[]) => `extraObjects=${JSON.stringify(objects)}`;
    expect(await set(value, extraObjects(object))).toContain(
      `extraObjects: the migration needs ${needed}, and runs before`,
    );
    const hook = { ...object, metadata: { name: 'made', annotations: { 'helm.sh/hook': 'pre-install,pre-upgrade' } } };
    for (const values of [
      [extraObjects(object)],
      [value, extraObjects(object), 'migration.enabled=false'],
      [value, extraObjects(hook)],
    ]) {
      const more = values.flatMap((text) => ['--set-json', text]);
      expect((await render(stack, 'default', { helm, more })).objects).not.toHaveLength(0);
    }
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
    'extraEnv=[{"name":"OPA_TOKEN","value":"$"}]',
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
    'ingress.annotations={"nginx.ingress.kubernetes.io/server-snippet":"location / { proxy_pass http://10.0.0.1:8080; }"}',
    'ingress.annotations={"nginx.ingress.kubernetes.io/configuration-snippet":""}',
    'ingress.annotations={"nginx.org/location-snippets":""}',
    'ingress.annotations={"nginx.ingress.kubernetes.io/default-backend":"trino"}',
    'ingress.annotations={"nginx.ingress.kubernetes.io/mirror-target":"http://10.0.0.1:8080"}',
    'ingress.annotations={"nginx.ingress.kubernetes.io/auth-url":"http://trino.engine.svc.cluster.local:8080/v1/info"}',
    'ingress.annotations={"nginx.ingress.kubernetes.io/permanent-redirect":"http://TRINO.engine:8080/"}',
    'ingress.annotations={"alb.ingress.kubernetes.io/actions.trino":"{}"}',
    'ingress.annotations={"haproxy-ingress.github.io/config-backend":"server a 10.0.0.1:8080"}',
    'ingress.annotations={"traefik.ingress.kubernetes.io/router.middlewares":"edge-auth@kubernetescrd, engine-trino@kubernetescrd"}',
    'ingress.annotations={"external-dns.alpha.kubernetes.io/target":"trino.engine.svc"}',
    'httpRoute.annotations={"external-dns.alpha.kubernetes.io/target":"trino.engine.svc"}',
    'service.annotations={"getambassador.io/config":"kind: Mapping"}',
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

  it.each([
    ['cert-manager.io/cluster-issuer', 'internal'],
    ['nginx.ingress.kubernetes.io/auth-url', 'https://oauth2-proxy.example.org/oauth2/auth'],
    ['nginx.ingress.kubernetes.io/rewrite-target', '/'],
    ['nginx.ingress.kubernetes.io/custom-http-errors', '503'],
    ['traefik.ingress.kubernetes.io/router.middlewares', 'edge-auth@kubernetescrd'],
    ['alb.ingress.kubernetes.io/target-group-attributes', 'stickiness.enabled=true'],
    ['external-dns.alpha.kubernetes.io/target', 'trino-edge.example.org'],
    ['kubernetes.io/ingress.global-static-ip-name', 'grantline'],
    ['konghq.com/strip-path', 'true'],
  ])('takes %s: %s as an annotation of the Ingress', async (name, value) => {
    const more = ['--set-json', `ingress.annotations=${JSON.stringify({ [name]: value })}`];
    const { objects } = await render(stack, 'ingress', { helm, more });
    expect(objects.find(({ kind }) => kind === 'Ingress')?.metadata.annotations).toMatchObject({ [name]: value });
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
