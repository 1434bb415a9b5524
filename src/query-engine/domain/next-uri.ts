import { ProtocolBreach } from './reading.js';

/** A placeholder for the configured origin, which the client adds; relative links are read against it. */
const ORIGIN = 'http://engine.invalid';
const ROOT = '/v1/statement/';

/**
 * The path and query of a nextUri, which are requested from the configured origin alone. The engine builds host and scheme
 * from headers that any proxy may have written (X-Forwarded-Host): a client that follows them can be sent anywhere with
 * its token. They are therefore not even compared.
 *
 * @param base path below which a gateway has the engine; addresses may begin with it.
 * @returns a path that begins with `/v1/statement/`: a capability, never to be logged.
 * @throws ProtocolBreach when the path does not begin so, once it is read as the network would read it.
 */
export function pinned(nextUri: string, base = ''): string {
  if (!URL.canParse(nextUri, ORIGIN)) throw new ProtocolBreach('a nextUri that is not a URL');
  const url = new URL(nextUri, ORIGIN);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new ProtocolBreach('a nextUri that is not an http URL');
  const path = url.pathname.startsWith(base + ROOT) ? url.pathname.slice(base.length) : url.pathname;
  if (!path.startsWith(ROOT)) throw new ProtocolBreach(`a nextUri outside ${ROOT}`);
  // Node 20 leaves dot segments behind a segment such as `.a` as they are; whoever is asked does not.
  if (/\/\.\.?(?:\/|$)/.test(path)) throw new ProtocolBreach('a nextUri with a dot segment');
  // Decoded, a dot segment or slash would leave the root on a server that decodes before it routes.
  if (/%2e|%2f|%5c|%00|\\/i.test(path)) throw new ProtocolBreach('a nextUri with an encoded path');
  return path + url.search;
}

/** Whether a path is one of that query: the engine's paths have its id as a segment. */
export function belongsTo(path: string, queryId: string): boolean {
  return path.split(/[/?]/).includes(queryId);
}
