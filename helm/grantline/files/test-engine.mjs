import { connect } from 'node:net';

const { ENGINE_HOST: host, ENGINE_PORT: port } = process.env;
const socket = connect({ host, port: Number(port) });
socket.setTimeout(5_000);
const outcome = await new Promise((resolve) => {
  socket.once('connect', () => resolve('connected'));
  socket.once('timeout', () => resolve('no answer'));
  socket.once('error', ({ code }) => resolve(code));
});
socket.destroy();
console.log(`${host}:${port}: ${outcome}`);
if (outcome === 'connected') {
  console.error('this pod must not reach the engine: is a network plug-in there that enforces policies?');
  process.exitCode = 1;
}
// The engine's name must be known, or nothing is proved.
if (outcome === 'ENOTFOUND' || outcome === 'EAI_AGAIN') process.exitCode = 2;
