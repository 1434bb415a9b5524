import { randomBytes } from 'node:crypto';

import { Client } from 'pg';

import { ApiClient, passwordOf, signedUp, signIn } from '../../support/service/api-client.js';
import { freshDatabase, type TestDatabase } from '../../support/database/database.js';
import { GrantlineProcess, runGrantline, type Finished } from '../../support/service/grantline-process.js';
import { apply, namespace } from '../chart/cluster-objects.js';
import { only, podsIn, type Manifest, type RenderedPod } from '../chart/manifest.js';
import { render } from '../chart/rendering.js';
import { KubernetesClient } from '../running/kubernetes-client.js';
import { startPod } from '../running/pods.js';
import type { ClusterStack } from '../stack.js';
import { RulesMap } from './rules-map.js';

const ADMINISTRATOR = 'boss';
/** What the chart makes that a pod needs before it starts. */
const NEEDED = ['ServiceAccount', 'Role', 'RoleBinding', 'ConfigMap'];

type Environment = Record<string, string>;

/** A `serve` that listens. */
export interface Replica {
  process: GrantlineProcess;
  administrator: ApiClient;
  /** The state of one part in `/health/ready`. */
  health(part: string): Promise<string | undefined>;
}

/** A publication that PostgreSQL holds. */
export interface Recorded {
  version: number;
  text: string;
  state: 'begun' | 'published' | 'abandoned';
}

/** Grantline as its chart installs it into two namespaces of its own, on a database of its own, without an engine. */
export class Installation {
  readonly rules: RulesMap;
  private readonly started: GrantlineProcess[] = [];

  private constructor(
    private readonly stack: ClusterStack,
    private readonly name: string,
    readonly database: TestDatabase,
    private readonly pods: readonly RenderedPod[],
    readonly administrator: KubernetesClient,
  ) {
    this.rules = new RulesMap(administrator, `${name}-engine`);
  }

  static async make(stack: ClusterStack, story: string): Promise<Installation> {
    const name = `publishing-${story}-${randomBytes(3).toString('hex')}`;
    const database = await freshDatabase();
    const more = [`--namespace=${name}`, `--set=accessControl.configMap.namespace=${name}-engine`];
    const { objects } = await render(stack, 'no-engine', { more: [...more, '--set=sync.runner=cronjob'] });
    const secret: Manifest = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'grantline', namespace: name },
      stringData: { 'database-url': database.url, 'auth-secret-key': randomBytes(36).toString('base64') },
    };
    await apply(stack, [namespace(name), namespace(`${name}-engine`)]);
    await apply(stack, [secret, ...objects.filter(({ kind }) => NEEDED.includes(kind))]);
    const administrator = KubernetesClient.administrator(stack.cluster);
    return new Installation(stack, name, database, podsIn(objects), administrator);
  }

  /** The environment of a new pod, with a token that is bound to it. */
  async pod(component: 'api' | 'acl-sync'): Promise<Environment> {
    const pod = only(
      this.pods.filter((candidate) => candidate.component === component),
      component,
    );
    return (await startPod(this.stack, pod, this.name)).environment;
  }

  /** Starts the service in a pod of its own; it publishes only when asked, unless the settings say otherwise. */
  async serve(settings: Environment = {}): Promise<Replica> {
    const environment = await this.pod('api');
    // The machine is not the pod's own: any port of the loopback interface.
    const here = { HOST: '127.0.0.1', PORT: '0', OPERATIONS_PORT: '0', AUTH_BCRYPT_COST: '10' };
    const process = new GrantlineProcess(['serve'], { ...environment, ...here, ...settings });
    this.started.push(process);
    const visitor = new ApiClient(await process.url());
    const [, found = ''] = await process.untilOutput(/"operations":"([^"]+)"/);
    const operations = found.replace('localhost', '127.0.0.1');
    return {
      process,
      administrator: visitor.as(await this.administratorToken(visitor, environment)),
      health: async (part) => {
        const answer = await fetch(`${operations}/health/ready`);
        return ((await answer.json()) as { parts: Record<string, string> }).parts[part];
      },
    };
  }

  /** Runs `acl sync` in a pod, its own if none is given. */
  async sync(environment?: Environment): Promise<Finished> {
    return runGrantline(['acl', 'sync', '--json'], environment ?? (await this.pod('acl-sync')));
  }

  /** A person with an account. @returns the id */
  async signUp(replica: Replica, name: string): Promise<number> {
    return (await signedUp(replica.administrator, name)).id;
  }

  async recorded(): Promise<Recorded[]> {
    return this.query<Recorded>('SELECT version, text, state FROM acl_publications ORDER BY version');
  }

  /** Outcome and reasons of every run, oldest first. */
  async runs(): Promise<{ outcome: string; reasons: string[] }[]> {
    return this.query(
      `SELECT outcome, array(SELECT jsonb_array_elements(reasons) ->> 'code') AS reasons FROM acl_runs ORDER BY id`,
    );
  }

  /** Takes the account's rights away. @returns where to POST what gives them back */
  async unbindRole(): Promise<[path: string, binding: object]> {
    const bindings = `/apis/rbac.authorization.k8s.io/v1/namespaces/${this.rules.namespace}/rolebindings`;
    const { items } = (await this.administrator.expect('GET', bindings)) as { items: Manifest[] };
    const { metadata, ...binding } = only(items, 'a role binding');
    await this.administrator.expect('DELETE', `${bindings}/${metadata.name}`);
    return [bindings, { ...binding, metadata: { name: metadata.name } }];
  }

  /** Ends every process, and drops the database. */
  async remove(): Promise<void> {
    for (const process of this.started) process.signal('SIGKILL');
    await Promise.all(this.started.map(({ finished }) => finished));
    await this.database.drop();
  }

  private async administratorToken(visitor: ApiClient, environment: Environment): Promise<string> {
    if ((await this.query(`SELECT FROM users WHERE username = '${ADMINISTRATOR}'`)).length === 0) {
      const command = ['users', 'create-admin', '--username', ADMINISTRATOR, '--email', `${ADMINISTRATOR}@example.org`];
      const made = await runGrantline(command, { ...environment, AUTH_BCRYPT_COST: '10' }, passwordOf(ADMINISTRATOR));
      if (made.code !== 0) throw new Error(made.stderr);
    }
    return (await signIn(visitor, ADMINISTRATOR)).access_token;
  }

  private async query<R extends object>(sql: string): Promise<R[]> {
    const client = new Client(this.database.url);
    await client.connect();
    try {
      return (await client.query<R>(sql)).rows;
    } finally {
      await client.end();
    }
  }
}
