import { Agent, request } from 'node:http';

/** Clients that send one request after the other on connections that they keep, until a response closes its connection. */
export class SteadyClients {
  /** Statuses of all answers. */
  readonly answers: number[] = [];
  /** Why requests had no answer. */
  readonly failures: string[] = [];
  readonly ended: Promise<unknown>;
  private readonly agents: Agent[] = [];

  constructor(url: string, count: number, headers: Record<string, string> = {}) {
    this.ended = Promise.all(Array.from({ length: count }, () => this.run(url, headers)));
  }

  /** When so many requests have been answered. */
  async answered(count: number): Promise<void> {
    while (this.answers.length < count) await new Promise((look) => setTimeout(look, 10));
  }

  private async run(url: string, headers: Record<string, string>): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    this.agents.push(agent);
    while (await this.one(url, headers, agent));
    agent.destroy();
  }

  private one(url: string, headers: Record<string, string>, agent: Agent): Promise<boolean> {
    return new Promise((resolve) => {
      const failed = (error: Error): void => {
        this.failures.push(error.message);
        resolve(false);
      };
      request(url, { agent, headers }, (response) => {
        response.on('error', failed);
        response.on('end', () => {
          this.answers.push(response.statusCode ?? 0);
          resolve(response.headers.connection !== 'close');
        });
        response.resume();
      })
        .on('error', failed)
        .end();
    });
  }
}
