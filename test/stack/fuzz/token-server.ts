import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TokenServer {
  url: string;
  close(): Promise<void>;
}

/** A server on loopback that answers every request with a new text, or with 500 and the reason why there is none. */
export async function startTokenServer(make: () => Promise<string>): Promise<TokenServer> {
  const server = createServer((_, answer) => {
    make().then(
      (text) => answer.end(text),
      (failure: unknown) => answer.writeHead(500).end(String(failure)),
    );
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((closed) => server.close(() => closed())),
  };
}
