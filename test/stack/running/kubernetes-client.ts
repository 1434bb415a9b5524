import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { createInterface } from 'node:readline';

import type { ClusterStack } from '../stack.js';

export const MERGE_PATCH = 'application/merge-patch+json';

export interface KubernetesAnswer {
  status: number;
  body: unknown;
}

/** An event of a watch, as the API server sends it. */
export interface WatchEvent {
  type: string;
  object: unknown;
}

/** Asks an API server as whoever the token belongs to. It shares no code with Grantline's own client. */
export class KubernetesClient {
  private readonly agent: Agent;

  constructor(
    private readonly cluster: Pick<ClusterStack['cluster'], 'url' | 'caFile'>,
    private readonly token: string,
  ) {
    this.agent = new Agent({ ca: readFileSync(cluster.caFile), keepAlive: true });
  }

  /** As the member of `system:masters` that the kubeconfig is for. */
  static administrator(cluster: ClusterStack['cluster']): KubernetesClient {
    const { users } = JSON.parse(readFileSync(cluster.kubeconfig, 'utf8')) as { users: [{ user: { token: string } }] };
    return new KubernetesClient(cluster, users[0].user.token);
  }

  send(method: string, path: string, object?: object, type = 'application/json'): Promise<KubernetesAnswer> {
    return new Promise((resolve, reject) => {
      const asked = request(
        new URL(path, this.cluster.url),
        { method, agent: this.agent, headers: this.headers({ 'Content-Type': type }), timeout: 10_000 },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('error', reject);
          answer.on('end', () => {
            resolve({ status: answer.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString('utf8')) });
          });
        },
      );
      asked.on('error', reject);
      asked.on('timeout', () => asked.destroy(new Error(`${method} ${path}: no answer`)));
      asked.end(object === undefined ? undefined : JSON.stringify(object));
    });
  }

  /** @throws Error unless the answer is a success */
  async expect(method: string, path: string, object?: object, type?: string): Promise<unknown> {
    const { status, body } = await this.send(method, path, object, type);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body).slice(0, 500)}`);
    return body;
  }

  /** Events until the signal, in the order in which the API server stored the objects; none is left out. */
  watch(path: string, signal: AbortSignal, seen: (event: WatchEvent) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const asked = request(
        new URL(path, this.cluster.url),
        { agent: this.agent, headers: this.headers({}), signal },
        (answer) => {
          if (answer.statusCode !== 200) reject(new Error(`${path}: ${answer.statusCode}`));
          const lines = createInterface(answer);
          lines.on('line', (line) => {
            seen(JSON.parse(line) as WatchEvent);
          });
          lines.on('error', () => undefined); // the signal's
          resolve();
        },
      );
      asked.on('error', reject);
      asked.end();
    });
  }

  private headers(more: Record<string, string>): Record<string, string> {
    return { Authorization: `Bearer ${this.token}`, Accept: 'application/json', ...more };
  }
}
