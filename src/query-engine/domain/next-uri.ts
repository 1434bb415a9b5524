import { ProtocolBreach } from './reading.js';

/** Stands for the configured origin, which the client adds; relative links are read against it. */
const ORIGIN = 'http://engine.invalid';

/**
 * The part of a nextUri that is used: path and query, asked of the configured origin and of nothing else. The engine
 * builds the rest from headers that anybody on the way may have written (X-Forwarded-Host), so a client that follows it
 * can be sent anywhere with its token. Host and scheme are therefore not even compared.
 *
 * @returns a path that begins with `/v1/statement/`: a capability, never to be logged.
 * @throws ProtocolBreach when the path does not begin so, once it is read as the network would read it.
 */
export function pinned(nextUri: string): string {
  if (!URL.canParse(nextUri, ORIGIN)) throw new ProtocolBreach('a nextUri that is no URL');
  const url = new URL(nextUri, ORIGIN);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new ProtocolBreach('a nextUri that is no web address');
  if (!url.pathname.startsWith('/v1/statement/')) throw new ProtocolBreach('a nextUri outside /v1/statement/');
  // A decoded dot segment or slash would leave the folder again on a server that decodes before it routes.
  if (/%2e|%2f|%5c|%00|\\/i.test(url.pathname)) throw new ProtocolBreach('a nextUri with an encoded path');
  return url.pathname + url.search;
}

/** Whether a path that was given for one query is asked of that query: the engine's paths name it in a segment of their own. */
export function belongsTo(path: string, queryId: string): boolean {
  return path.split(/[/?]/).includes(queryId);
}
