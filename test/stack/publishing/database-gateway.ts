import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

import { FORWARD, type Around } from './around.js';

/** Types of the messages that end a step, by the frontend/backend protocol 3.0. */
const QUERY = 'Q';
const PARSE = 'P';
const SYNC = 'S';
const READY_FOR_QUERY = 'Z';
/** The transaction status in it, when there is none. */
const IDLE = 'I'.charCodeAt(0);

/**
 * Between a pod and PostgreSQL, for what happens on the way. A step is a statement, by its SQL, or the COMMIT of several: of a
 * transaction that is cut off before, nothing has happened.
 */
export class DatabaseGateway {
  around: Around = FORWARD;
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((client) => {
    this.serve(client);
  });

  private constructor(private readonly target: URL) {}

  /** @param url of the database */
  static async start(url: string): Promise<DatabaseGateway> {
    const gateway = new DatabaseGateway(new URL(url));
    await once(gateway.server.listen(0, '127.0.0.1'), 'listening');
    return gateway;
  }

  /** For a pod that is to use it. */
  get environment(): Record<string, string> {
    const url = new URL(this.target);
    url.host = `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return { DATABASE_URL: url.href, DATABASE_URL_FILE: '' };
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((closed) => this.server.close(closed));
  }

  private serve(client: Socket): void {
    const server = connect(Number(this.target.port), this.target.hostname);
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      const other = socket === client ? server : client;
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
    }
    const answers = new HeldAnswers(server, client);
    let batch: Buffer[] = [];
    let sql = '';
    readMessages(client, false, (type, message) => {
      if (!answers.isReady) return void server.write(message); // the startup and the password
      batch.push(message);
      if (type === QUERY) sql = textAt(message, 5);
      if (type === PARSE) sql = textAt(message, textAt(message, 5).length + 6);
      if (type !== QUERY && type !== SYNC) return;
      const bytes = Buffer.concat(batch);
      batch = [];
      const isPart = answers.isInTransaction && !/^\s*COMMIT\b/i.test(sql);
      const around = isPart ? FORWARD : this.around;
      around(sql.trim(), () => answers.ask(bytes)).then(
        () => {
          answers.deliver();
        },
        () => client.destroy(),
      );
    });
  }
}

/** Answers of the server, each held until the step is over; a client sends the next one no sooner. */
class HeldAnswers {
  /** False during the startup, which passes as it is. */
  isReady = false;
  isInTransaction = false;
  private held: Buffer[] = [];
  private complete: () => void = () => undefined;

  constructor(
    private readonly server: Socket,
    private readonly client: Socket,
  ) {
    readMessages(server, true, (type, message) => {
      if (this.isReady) this.held.push(message);
      else client.write(message);
      if (type !== READY_FOR_QUERY) return;
      this.isReady = true;
      this.isInTransaction = message[5] !== IDLE;
      this.complete();
    });
  }

  /** Resolves when the whole answer is there. */
  ask(bytes: Buffer): Promise<void> {
    this.server.write(bytes);
    return new Promise((resolve) => {
      this.complete = resolve;
    });
  }

  deliver(): void {
    this.client.write(Buffer.concat(this.held));
    this.held = [];
  }
}

/** @param isTyped false: the first message has no type, as the startup message of a client */
function readMessages(socket: Socket, isTyped: boolean, seen: (type: string, message: Buffer) => void): void {
  let rest = Buffer.alloc(0);
  let typeBytes = isTyped ? 1 : 0;
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= typeBytes + 4) {
      const end = typeBytes + rest.readInt32BE(typeBytes);
      if (rest.length < end) return;
      const message = rest.subarray(0, end);
      rest = rest.subarray(end);
      const type = typeBytes === 0 ? '' : String.fromCharCode(message[0] ?? 0);
      typeBytes = 1;
      seen(type, message);
    }
  });
}

/** A text that ends with a zero byte. */
function textAt(message: Buffer, start: number): string {
  return message.toString('utf8', start, message.indexOf(0, start));
}
