import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Wire } from './http-load.js';

/** Bytes a second, of attacks that are limited by them. */
const RATE = 5_000_000;

/** Of a connection: longer answers to what it sends are not waited for. */
const UNSENT = 65_536;

let sent = 0;

/** By this process, so far. */
export function sentBytes(): number {
  return sent;
}

/** Each connection sends `beginning` and then `more` for ever, all together RATE bytes a second; a closed one is opened again. */
export function paced(port: number, connections: number, beginning: string, more: string): Promise<never> {
  const [first, rest] = [Buffer.from(beginning, 'latin1'), Buffer.from(more, 'latin1')];
  const open = new Set<Socket>();
  let credit = 0;
  let last = performance.now();
  return new Promise<never>(() => {
    setInterval(() => {
      const now = performance.now();
      credit = Math.min(RATE / 10, credit + ((now - last) * RATE) / 1000);
      last = now;
      while (open.size < connections) {
        const socket = opened(port);
        socket.once('close', () => open.delete(socket));
        open.add(socket);
        socket.write(first);
      }
      for (let progress = true; progress && credit > 0;) {
        progress = false;
        for (const socket of open) {
          if (socket.writableLength > UNSENT || !socket.writable || credit <= 0) continue;
          socket.write(rest);
          credit -= rest.length;
          sent += rest.length;
          progress = true;
        }
      }
    }, 5);
  });
}

/** So many connections that send one byte of a request each second. */
export function slow(port: number, connections: number, request: string): Promise<never> {
  const open = new Set<Socket>();
  return new Promise<never>(() => {
    setInterval(() => {
      for (let count = 0; count < 100 && open.size < connections; count += 1) {
        const socket = opened(port);
        socket.once('close', () => open.delete(socket));
        socket.write(request);
        open.add(socket);
      }
      for (const socket of open) socket.write('a');
      sent += open.size;
    }, 1000);
  });
}

/** Opens connections, sends `request` on each, and closes it when anything is answered or (null) at once: so many at a time. */
export async function opening(port: number, atOnce: number, request: string | null): Promise<void> {
  const connection = (): Promise<void> =>
    new Promise((resolve) => {
      const socket = opened(port);
      socket.once('data', () => socket.destroy());
      socket.once('close', resolve);
      socket.once('connect', () => {
        sent += request?.length ?? 1;
        if (request === null) socket.destroy();
        else socket.write(request);
      });
    });
  const forEver = async (): Promise<void> => {
    for (;;) await connection();
  };
  await Promise.all(Array.from({ length: atOnce }, forEver));
}

/** The same request on each of so many connections, again when it is answered; a closed one is opened again. */
export async function closed(port: number, connections: number, request: string): Promise<void> {
  const connection = async (): Promise<void> => {
    for (;;) {
      const wire = await Wire.open(port);
      do sent += request.length;
      while ((await wire.send(request)).status !== 0);
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
}

/** Three connections with requests whose answers are never read, opened anew four times a second. */
export async function unread(port: number, requests: string): Promise<void> {
  const connection = async (): Promise<void> => {
    for (;;) {
      const socket = opened(port);
      socket.pause().write(requests);
      sent += requests.length;
      await pause(250);
      socket.destroy();
    }
  };
  await Promise.all([connection(), connection(), connection()]);
}

/** It is closed: that is the point. */
function opened(port: number): Socket {
  return connect(port, '127.0.0.1')
    .on('error', () => undefined)
    .on('data', () => undefined);
}
