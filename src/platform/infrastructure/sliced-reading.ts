import type { Socket } from 'node:net';

/** Node's parser does not stop within the bytes that it is given, whatever becomes of their connection: 64 KiB hold 1,900 requests. */
const SLICE = 2_048;

/** Bytes that are read and dropped of a connection after its last answer. */
const DISCARDED = { bytes: 2 * 1024 * 1024, milliseconds: 5_000 };

/** Questions of the reader to its connection. */
export interface Reader {
  /** Whether the peer may still be sending what nobody will read. */
  hasUnread: () => boolean;
  /** After each slice: the parser has returned, so that the connection can be closed. */
  afterSlice: () => void;
}

/**
 * Hands the bytes of a server's connection to its parser in slices, until the connection is closed. And closes it in stages
 * (RFC 9112 section 9.6): a close with unread bytes makes the kernel send a reset, which can cost the client its answer.
 * To be called when the HTTP server has added its own listeners.
 */
export function readInSlices(socket: Socket, { hasUnread, afterSlice }: Reader): void {
  const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[];
  if (parse === undefined) throw new Error('the HTTP server does not read its connections by events');
  socket.removeListener('data', parse);
  const closeAtOnce = socket.destroySoon.bind(socket);
  let discarded: number | null = null;
  const read = (bytes: Buffer): void => {
    for (let at = 0; at < bytes.length && !socket.destroyed; at += SLICE) {
      if (discarded !== null) {
        discarded += bytes.length - at;
        if (discarded > DISCARDED.bytes) socket.destroy();
        return;
      }
      if (socket.isPaused()) {
        socket.unshift(bytes.subarray(at)); // until answers have been read
        return;
      }
      parse.call(socket, bytes.subarray(at, at + SLICE));
      afterSlice();
    }
  };
  socket.destroySoon = () => {
    if (!hasUnread()) closeAtOnce();
    else if (discarded === null) {
      discarded = 0;
      socket.end();
      socket.resume();
      const late = setTimeout(() => socket.destroy(), DISCARDED.milliseconds).unref();
      socket.once('close', () => clearTimeout(late));
    }
  };
  socket.on('data', read); // which also ends the parser's own reading from the handle
}
