import { connect, type Socket } from 'node:net';

export interface Answered {
  /** 0: the connection was closed instead. */
  status: number;
  body: string;
}

/** One keep-alive connection that sends prepared bytes and reads answers with a Content-Length, and does no more than that. */
export class Wire {
  private pending: Buffer = Buffer.alloc(0);
  private waiting: ((answered: Answered) => void) | null = null;
  private closed = false;

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.read(chunk));
    socket.once('close', () => {
      this.closed = true;
      this.waiting?.({ status: 0, body: '' });
    });
  }

  static open(port: number): Promise<Wire> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(new Wire(socket)));
      socket.on('error', reject);
    });
  }

  send(request: string): Promise<Answered> {
    return new Promise((resolve) => {
      this.waiting = resolve;
      if (this.closed) resolve({ status: 0, body: '' });
      else this.socket.write(request);
    });
  }

  close(): void {
    this.socket.destroy();
  }

  private read(chunk: Buffer): void {
    this.pending = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
    const end = this.pending.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.pending.toString('latin1', 0, end);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.pending.length < end + 4 + length) return;
    const body = this.pending.toString('utf8', end + 4, end + 4 + length);
    this.pending = Buffer.alloc(0);
    this.waiting?.({ status: Number(head.slice(9, 12)), body });
  }
}

/** The bytes of a request. */
export function requestText(
  method: string,
  path: string,
  { token, body, headers = {} }: { token?: string; body?: unknown; headers?: Record<string, string> },
): string {
  const text = body === undefined ? '' : JSON.stringify(body);
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`]),
  ];
  return `${lines.join('\r\n')}\r\n\r\n${text}`;
}

/**
 * So many connections, each sending its next request when it has its answer.
 * @param next the request after an answer (null: the first one) on that connection; null: that connection is done.
 * @returns requests answered in how many seconds.
 */
export async function closedLoop(
  port: number,
  connections: number,
  next: (connection: number, last: Answered | null) => string | null | Promise<string | null>,
): Promise<{ count: number; seconds: number }> {
  const wires = await Promise.all(Array.from({ length: connections }, () => Wire.open(port)));
  let count = 0;
  const start = performance.now();
  await Promise.all(
    wires.map(async (wire, connection) => {
      let request = await next(connection, null);
      while (request !== null) {
        const answered = await wire.send(request);
        count += 1;
        const following = next(connection, answered);
        request = following instanceof Promise ? await following : following;
      }
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  for (const wire of wires) wire.close();
  return { count, seconds };
}

/**
 * Requests at a fixed rate, whether the answers keep up or not; a wait counts from the moment at which its request was due.
 * @returns the waits in ms.
 */
export async function openLoop(port: number, rate: number, seconds: number, request: string): Promise<number[]> {
  const idle = await Promise.all(Array.from({ length: 64 }, () => Wire.open(port)));
  const wires = [...idle];
  const waits: number[] = [];
  const due: number[] = [];
  const total = Math.round(rate * seconds);
  const start = performance.now();
  await new Promise<void>((done, fail) => {
    let sent = 0;
    const pump = (): void => {
      while (due.length > 0 && idle.length > 0) {
        const [wire, at] = [idle.pop(), due.shift()];
        if (wire === undefined || at === undefined) return;
        void wire.send(request).then(({ status, body }) => {
          if (status !== 200) fail(new Error(`refused: ${status} ${body}`));
          waits.push(performance.now() - at);
          idle.push(wire);
          if (waits.length === total) done();
          else pump();
        });
      }
    };
    const timer = setInterval(() => {
      while (sent < total && start + (sent * 1000) / rate <= performance.now()) {
        due.push(start + (sent * 1000) / rate);
        sent += 1;
      }
      if (sent === total) clearInterval(timer);
      pump();
    }, 1);
  });
  for (const wire of wires) wire.close();
  return waits;
}
