const url = process.env.API_URL;
const expected = [
  ['GET', '/api/openapi.json', 200],
  ['POST', '/v1/statement', 405],
  ['GET', '/metrics', 404],
];
for (const [method, path, status] of expected) {
  const answer = await fetch(url + path, { method, signal: AbortSignal.timeout(10_000) });
  console.log(`${method} ${path}: ${answer.status}`);
  if (answer.status !== status) {
    console.error(`expected ${status}`);
    process.exitCode = 1;
  }
}
