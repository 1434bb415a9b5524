import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

import type { ClusterStack } from '../stack.js';
import { FORWARD, type Around } from './around.js';

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Between a pod and the API server, for what happens on the way. A step is the method: `GET`, `PATCH`. */
export class ApiGateway {
  around: Around = FORWARD;
  private readonly agent: Agent;
  private readonly server = createServer((incoming, outgoing) => {
    this.handle(incoming, outgoing).catch(() => outgoing.destroy());
  });

  private constructor(private readonly cluster: ClusterStack['cluster']) {
    this.agent = new Agent({ ca: readFileSync(cluster.caFile), keepAlive: true });
  }

  static async start(cluster: ClusterStack['cluster']): Promise<ApiGateway> {
    const gateway = new ApiGateway(cluster);
    await once(gateway.server.listen(0, '127.0.0.1'), 'listening');
    return gateway;
  }

  /** For a pod that is to use it. */
  get environment(): Record<string, string> {
    return { KUBERNETES_API_URL: `http://127.0.0.1:${(this.server.address() as AddressInfo).port}` };
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.agent.destroy();
    await new Promise((closed) => this.server.close(closed));
  }

  private async handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    let answer: Answer | undefined;
    await this.around(incoming.method ?? '', async () => {
      answer = await this.forward(incoming, body);
    });
    if (answer === undefined) throw new Error('the request was not forwarded');
    const { 'transfer-encoding': _, ...headers } = answer.headers;
    outgoing.writeHead(answer.status, { ...headers, 'content-length': answer.body.length }).end(answer.body);
  }

  private forward({ method, url, headers }: IncomingMessage, body: Buffer): Promise<Answer> {
    const { host: _, ...passed } = headers;
    return new Promise((resolve, reject) => {
      const options = { method, headers: passed, agent: this.agent };
      const asked = request(new URL(url ?? '', this.cluster.url), options, (answer) => {
        buffer(answer).then((read) => {
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: read });
        }, reject);
      });
      asked.on('error', reject);
      asked.end(body);
    });
  }
}
