import type { Socket } from 'node:net';
import { newDebt } from '../domain/reading-debt.js';
import type { ReadingTurns, TurnTaker } from './reading-turns.js';

/** Bytes that are read and dropped of a connection after its last answer. */
const DISCARDED = { bytes: 2 * 1024 * 1024, milliseconds: 5_000 };

/** Of bytes that were read: how many are dealt with, and what the parser is given for them. */
export interface Taken {
  used: number;
  parsed: Buffer;
}

export const NOTHING: Taken = { used: 0, parsed: Buffer.alloc(0) };

/** Questions of the reader to its connection. */
export interface Reader {
  /** Whether the parser may be given more: not while too many requests wait for their answers. */
  mayParse: () => boolean;
  /** How many bytes are read at most, in one turn. */
  most: () => number;
  /** What is dealt with in this turn: at most one request, and nothing where nothing more is parsed. */
  take: (bytes: Buffer) => Taken;
  /** Whether the peer may still be sending what nobody will read. */
  hasUnread: () => boolean;
  /** After each slice: the parser has returned, so that the connection can be closed. */
  afterSlice: () => void;
}

/**
 * Hands the bytes of a server's connection to its parser in slices, each in its turn, until the connection is closed. And closes
 * it in stages (RFC 9112 section 9.6): a close with unread bytes makes the kernel send a reset, which can cost the client its
 * answer. To be made when the HTTP server has added its own listeners.
 */
export class SlicedReading implements TurnTaker {
  debt = newDebt(performance.now());
  isWaiting = false;
  private readonly parse: (bytes: Buffer) => void;
  private readonly closeAtOnce: () => void;
  /** By the HTTP server, until answers have been read or a body's reader wants more. */
  private isHeld = false;
  private discarded: number | null = null;

  constructor(
    private readonly socket: Socket,
    private readonly turns: ReadingTurns,
    private readonly reader: Reader,
  ) {
    const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[];
    if (parse === undefined) throw new Error('the HTTP server does not read its connections by events');
    socket.removeListener('data', parse);
    this.parse = parse;
    this.closeAtOnce = socket.destroySoon.bind(socket);
    socket.destroySoon = () => this.close();
    socket.pause = () => {
      this.isHeld = true;
      return socket;
    };
    socket.resume = () => {
      this.isHeld = false;
      this.lookForMore();
      return socket;
    };
    socket.on('readable', () => this.lookForMore()); // which also ends the parser's own reading from the handle
  }

  takeTurn(): void {
    if (!this.hasMore()) return;
    const bytes = this.socket.read(Math.min(this.reader.most(), this.socket.readableLength)) as Buffer;
    const { used, parsed } = this.reader.take(bytes);
    if (used < bytes.length) this.socket.unshift(bytes.subarray(used));
    if (parsed.length > 0) this.parse.call(this.socket, parsed);
    this.reader.afterSlice();
  }

  /**
   * To be called when the parser may be given more again. The end is told after the turn that read the last bytes: the HTTP
   * server sends nothing after it, and what is answered at once is answered first.
   */
  lookForMore(): void {
    if (this.discarded !== null) this.discard();
    else if (this.hasMore()) this.turns.add(this);
    else if (this.socket.readableLength === 0 && !this.turns.isOf(this)) this.socket.read(0); // tells of the end, where it has come
  }

  private hasMore(): boolean {
    const { socket } = this;
    const hasBytes = !socket.destroyed && this.discarded === null && socket.readableLength > 0;
    return hasBytes && !this.isHeld && this.reader.mayParse();
  }

  private close(): void {
    const { socket } = this;
    if (!this.reader.hasUnread() && socket.readableLength === 0) this.closeAtOnce();
    else if (this.discarded === null) {
      this.discarded = 0;
      socket.end();
      const late = setTimeout(() => socket.destroy(), DISCARDED.milliseconds).unref();
      socket.once('close', () => clearTimeout(late));
      this.discard();
    }
  }

  private discard(): void {
    for (let bytes = this.read(); bytes !== null; bytes = this.read()) {
      this.discarded = (this.discarded ?? 0) + bytes.length;
      if (this.discarded > DISCARDED.bytes) this.socket.destroy();
    }
  }

  private read(): Buffer | null {
    return this.socket.destroyed ? null : (this.socket.read() as Buffer | null);
  }
}
