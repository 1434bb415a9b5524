import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { fastify } from 'fastify';
import { ConnectionDrain, Connections } from '../../src/platform/http/connections.js';
import { LogBook } from '../support/fakes/log-book.js';
import { statusesIn } from '../support/service/raw-connection.js';

describe('the end of a server', () => {
  it('answers on every connection that the kernel took before it, however busy the process was', async () => {
    const connections = new Connections({ requestSeconds: 30, sendSeconds: 60 }, new LogBook());
    const server = fastify({ serverFactory: (answer) => connections.serve(answer) });
    const drain = new ConnectionDrain(server, connections);
    server.get('/', () => 'here');
    const { port } = new URL(await server.listen({ host: '127.0.0.1', port: 0 }));
    // They wait in the kernel: no turn of the event loop has passed when the drain begins.
    const clients = Array.from({ length: 20 }, () => connect(Number(port), '127.0.0.1'));
    for (const client of clients) client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const answers = Promise.all(clients.map((client) => text(client)));

    await drain.begin();

    expect((await answers).map(statusesIn)).toEqual(Array.from({ length: 20 }, () => [200]));
    await server.close();
  });
});
