import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from './free-port.js';

/** A neighbour's address, which fails as networks and hosts fail while the neighbour itself is well. */
export class TcpProxy {
  /** Milliseconds by which everything is late, in both directions. */
  delay = 0;
  private server: Server | null = null;
  private readonly sockets = new Set<Socket>();
  private readonly stranded = new WeakSet<Socket>();
  private hanging: { end: () => void; over: Promise<void> } | null = null;

  private constructor(
    private readonly target: URL,
    private readonly port: number,
  ) {}

  /** @param url of the neighbour; its scheme does not matter. */
  static async to(url: string): Promise<TcpProxy> {
    // Nobody else is handed that port while the proxy is down.
    const proxy = new TcpProxy(new URL(url), await freePort());
    await proxy.up();
    return proxy;
  }

  /** The neighbour's URL, through here. */
  get url(): string {
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String(this.port);
    return url.href.replace(/\/$/, '');
  }

  /** Connections are cut, and new ones refused: the neighbour's process is gone. */
  async down(): Promise<void> {
    const { server } = this;
    this.server = null;
    for (const socket of this.sockets) socket.destroy();
    if (server !== null) await new Promise((closed) => server.close(closed));
  }

  /** At the old address again, where it was down. */
  async up(): Promise<void> {
    if (this.server !== null) return;
    this.server = createServer((client) => this.join(client));
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  /** Nothing passes any more, and nothing is closed, until `resume`. */
  hang(): void {
    let end = (): void => undefined;
    const over = new Promise<void>((resolve) => (end = resolve));
    this.hanging = { end, over };
  }

  resume(): void {
    this.hanging?.end();
    this.hanging = null;
  }

  /** Present connections stay silent for ever, as those to a host that has lost its power; new ones pass. */
  strand(): void {
    for (const socket of this.sockets) this.stranded.add(socket);
  }

  private join(client: Socket): void {
    const neighbour = connect({ host: this.target.hostname, port: Number(this.target.port) });
    for (const [from, to] of [
      [client, neighbour],
      [neighbour, client],
    ] as const) {
      this.sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => {
        this.sockets.delete(from);
        if (!this.stranded.has(from)) to.destroy();
      });
      from.on('data', (chunk: Buffer) => {
        from.pause();
        void this.passed(from).then(() => {
          to.write(chunk);
          from.resume();
        });
      });
    }
  }

  private async passed(from: Socket): Promise<void> {
    if (this.stranded.has(from)) await new Promise(() => undefined);
    if (this.delay > 0) await pause(this.delay);
    await this.hanging?.over;
  }
}
