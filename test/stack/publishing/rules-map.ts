import { KubernetesClient, MERGE_PATCH, type KubernetesAnswer } from '../running/kubernetes-client.js';

export const GENERATION = 'grantline.io/generation';
const RULES = 'rules.json';
const FORMER = 'rules.json.bak';

/** The ConfigMap with the rules, as the API server stored it at one moment. */
export interface StoredRules {
  resourceVersion: string;
  /** What the engine reads; undefined: nothing. */
  text: string | undefined;
  former: string | undefined;
  /** The publication, as Grantline counts them. */
  generation: string | undefined;
  /** With every key. */
  data: Record<string, string>;
  binaryData: Record<string, string>;
}

interface StoredMap {
  metadata: { resourceVersion: string; annotations?: Record<string, string> };
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
}

/** The ConfigMap of one installation, in the hands of a cluster administrator. */
export class RulesMap {
  readonly name = 'trino-access-control';
  private readonly collection: string;
  private readonly path: string;

  constructor(
    private readonly client: KubernetesClient,
    readonly namespace: string,
  ) {
    this.collection = `/api/v1/namespaces/${namespace}/configmaps`;
    this.path = `${this.collection}/${this.name}`;
  }

  async read(): Promise<StoredRules> {
    return storedRules(await this.client.expect('GET', this.path));
  }

  patch(patch: object): Promise<KubernetesAnswer> {
    return this.client.send('PATCH', this.path, patch, MERGE_PATCH);
  }

  editRules(text: string): Promise<KubernetesAnswer> {
    return this.patch({ data: { [RULES]: text } });
  }

  editFormer(text: string): Promise<KubernetesAnswer> {
    return this.patch({ data: { [FORMER]: text } });
  }

  delete(): Promise<unknown> {
    return this.client.expect('DELETE', this.path);
  }

  /** As empty as the chart makes it. */
  create(): Promise<unknown> {
    return this.client.expect('POST', this.collection, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: this.name },
    });
  }

  /** Everything that is stored from now on, in order; what it is now comes first. */
  async watch(signal: AbortSignal, stored: (rules: StoredRules) => void): Promise<void> {
    const only = `fieldSelector=metadata.name=${this.name}`;
    const { metadata, items } = (await this.client.expect('GET', `${this.collection}?${only}`)) as {
      metadata: { resourceVersion: string };
      items: unknown[];
    };
    for (const item of items) stored(storedRules(item));
    // The collection's version: that of an object can be too old to be watched from.
    const path = `${this.collection}?watch=true&${only}&resourceVersion=${metadata.resourceVersion}`;
    await this.client.watch(path, signal, ({ type, object }) => {
      if (type === 'ERROR') throw new Error(`the watch has ended: ${JSON.stringify(object)}`);
      const rules = storedRules(object);
      stored(type === 'DELETED' ? { ...rules, text: undefined, former: undefined, data: {}, binaryData: {} } : rules);
    });
  }
}

function storedRules(object: unknown): StoredRules {
  const { metadata, data = {}, binaryData = {} } = object as StoredMap;
  return {
    resourceVersion: metadata.resourceVersion,
    text: data[RULES],
    former: data[FORMER],
    generation: metadata.annotations?.[GENERATION],
    data,
    binaryData,
  };
}
