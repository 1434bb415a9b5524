/** As much of Kubernetes' objects as the specs look at. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  spec?: unknown;
  [field: string]: unknown;
}

export interface EnvironmentVariable {
  name: string;
  value?: string;
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  env?: EnvironmentVariable[];
  volumeMounts?: { name: string; mountPath: string }[];
  ports?: { name: string; containerPort: number }[];
}

export interface Volume {
  name: string;
  secret?: { secretName: string; items: { key: string; path: string }[] };
  configMap?: { name: string; items: { key: string; path: string }[] };
  projected?: { sources: { serviceAccountToken?: { path: string }; configMap?: { name: string } }[] };
}

export interface PodTemplate {
  metadata: { labels: Record<string, string>; annotations?: Record<string, string> };
  spec: { serviceAccountName?: string; containers: Container[]; volumes?: Volume[] };
}

/** A pod that the chart makes, whatever makes it. */
export interface RenderedPod extends PodTemplate {
  /** `Deployment/grantline` */
  origin: string;
  component: string;
  namespace: string | undefined;
}

/** The pods of all workloads among these objects. */
export function podsIn(objects: readonly Manifest[]): RenderedPod[] {
  return objects.flatMap((object) => {
    const template = templateOf(object);
    if (template === null) return [];
    const component = template.metadata.labels['app.kubernetes.io/component'] ?? '';
    const origin = `${object.kind}/${object.metadata.name}`;
    return [{ ...template, origin, component, namespace: object.metadata.namespace }];
  });
}

function templateOf(object: Manifest): PodTemplate | null {
  switch (object.kind) {
    case 'Deployment':
    case 'Job':
      return (object.spec as { template: PodTemplate }).template;
    case 'CronJob':
      return (object.spec as { jobTemplate: { spec: { template: PodTemplate } } }).jobTemplate.spec.template;
    case 'Pod':
      return { metadata: { labels: object.metadata.labels ?? {} }, spec: object.spec as PodTemplate['spec'] };
    default:
      return null;
  }
}

/** The environment of a pod's own container, as its process sees it. */
export function environmentOf(pod: PodTemplate): Record<string, string> {
  const [container] = pod.spec.containers;
  const given = (container?.env ?? []).flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]));
  return Object.fromEntries(given) as Record<string, string>;
}

/** @throws unless there is exactly one */
export function only<T>(items: readonly T[], what: string): T {
  const [item, ...others] = items;
  if (item === undefined || others.length > 0) throw new Error(`${items.length} times ${what}, not once`);
  return item;
}
