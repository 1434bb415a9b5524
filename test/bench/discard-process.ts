import { type AddressInfo, createServer } from 'node:net';

/** Reads everything on two ports, answers nothing, and prints the ports. */
const [api, operations] = await Promise.all([discarding(), discarding()]);
process.stdout.write(`${JSON.stringify({ api, operations })}\n`);

function discarding(): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => undefined).resume());
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
