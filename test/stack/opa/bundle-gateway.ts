import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';

/** Between OPA and the operations port, at an address that outlives the service. */
export class BundleGateway {
  /** The operations port; null: nobody answers. */
  target: string | null = null;
  /** What happens to each bundle on its way: another byte in a name, and no signature besides. */
  attack: { name: string; keepsSignature: boolean } | null = null;
  private readonly server = createServer((incoming, outgoing) => {
    this.forward(incoming, outgoing).catch(() => outgoing.destroy());
  });

  static async start(): Promise<BundleGateway> {
    const gateway = new BundleGateway();
    await once(gateway.server.listen(0, '127.0.0.1'), 'listening');
    return gateway;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  private async forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    if (this.target === null) throw new Error('nobody is there');
    const { method, url, headers } = incoming;
    const asked = request(new URL(url ?? '', this.target), { method, headers, agent: false });
    outgoing.once('close', () => asked.destroy());
    asked.end(body);
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    const read = await buffer(answer);
    const { 'transfer-encoding': _, 'content-length': __, ...passed } = answer.headers;
    outgoing.writeHead(answer.statusCode ?? 502, passed).end(this.passedOn(url, read));
  }

  private passedOn(url: string | undefined, body: Buffer): Buffer {
    if (this.attack === null || url?.endsWith('.tar.gz') !== true || body.length === 0) return body;
    const { name, keepsSignature } = this.attack;
    const archive = gunzipSync(body);
    const [at, signature] = [name, '.signatures.json'].map((text) => archive.indexOf(text));
    if (at === undefined || signature === undefined || Math.min(at, signature) < 0)
      throw new Error(`the bundle does not hold ${name}, or no signature`);
    archive.writeUInt8(archive.readUInt8(at) ^ 1, at);
    // The signature is the last file of the archive, whose end is two empty blocks.
    return gzipSync(keepsSignature ? archive : Buffer.concat([archive.subarray(0, signature), Buffer.alloc(1024)]));
  }
}
