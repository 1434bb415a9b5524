import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A request as it is sent. */
export const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** A TCP connection to the service, for bytes that no HTTP client sends. */
export class RawConnection {
  /** Everything that was read, as latin1. */
  text = '';
  readonly closed: Promise<string>;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => (this.text += chunk.toString('latin1')));
    socket.on('error', () => undefined); // a reset is one way of being closed
    this.closed = new Promise((resolve) => socket.on('close', () => resolve(this.text)));
  }

  static async open(url: string): Promise<RawConnection> {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' });
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new RawConnection(socket);
  }

  send(bytes: string): this {
    this.socket.write(bytes, 'latin1');
    return this;
  }

  /** Reads nothing more; what comes stays in the kernels' buffers. */
  stopReading(): this {
    this.socket.pause();
    return this;
  }

  readOn(): void {
    this.socket.resume();
  }

  /** Resolves when the kernel has taken all that was sent. */
  async sent(): Promise<void> {
    while (this.socket.writableLength > 0) await new Promise((resolve) => this.socket.once('drain', resolve));
  }

  /** Reads at least so many bytes more, and stops again. */
  async readSome(bytes: number): Promise<void> {
    const enough = this.text.length + bytes;
    this.socket.resume();
    while (this.text.length < enough) await once(this.socket, 'data');
    this.socket.pause();
  }

  /** Resolves with the text once it matches. @throws Error when the connection is closed first. */
  async reads(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.text)) {
      const more = new Promise<'more'>((resolve) => this.socket.once('data', () => resolve('more')));
      if ((await Promise.race([more, this.closed])) !== 'more' && !pattern.test(this.text)) {
        throw new Error(`closed after ${JSON.stringify(this.text.slice(0, 2000))}`);
      }
    }
    return this.text;
  }

  destroy(): void {
    this.socket.destroy();
  }
}

/** Statuses of the answers in a text, in their order. */
export function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
