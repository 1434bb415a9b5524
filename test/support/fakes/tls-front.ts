import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer, type SecureVersion, type Server } from 'node:tls';
import type { Credentials } from './test-authority.js';

/** A TLS port in front of a fake server that speaks plain HTTP. */
export class TlsFront {
  /** `https://127.0.0.1:port`. */
  origin = '';
  /** Handshakes that ended well. */
  handshakes = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  /** @param target `http://127.0.0.1:port` */
  static async start(
    target: string,
    credentials: Credentials,
    versions: { minVersion?: SecureVersion; maxVersion?: SecureVersion } = {},
  ): Promise<TlsFront> {
    // OpenSSL refuses TLS 1.0 and 1.1 at its default security level.
    const server = createServer({ ...credentials, ...versions, ciphers: 'DEFAULT@SECLEVEL=0' });
    const front = new TlsFront(server);
    server.on('secureConnection', (socket) => {
      front.handshakes += 1;
      const inner = connect(Number(new URL(target).port), '127.0.0.1');
      for (const each of [socket, inner]) {
        front.sockets.add(each);
        each.on('error', () => each.destroy());
      }
      socket.on('close', () => inner.destroy());
      inner.on('close', () => socket.destroy());
      socket.pipe(inner).pipe(socket);
    });
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    front.origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return front;
  }

  /** The next handshakes show this certificate; connections that are open are closed. */
  present(credentials: Credentials): void {
    this.server.setSecureContext({ ...credentials, ciphers: 'DEFAULT@SECLEVEL=0' });
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((closed) => this.server.close(closed));
  }
}
