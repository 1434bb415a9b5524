import type { Readable } from 'node:stream';
import axios from 'axios';
import { USER_AGENT } from '../platform/operations/version.js';
import { print, printJson, UnusableInput } from './output.js';

const DEADLINE_MS = 15_000;
/** The most bytes read of an answer. Signs of the engine are at its beginning. */
const MAX_READ_BYTES = 64 * 1024;

const EXIT_CODES = { retired: 0, reachable: 1, unknown: 2 } as const;

const VERDICT_SUMMARIES = {
  retired: 'the route is retired: nothing that answered is an engine',
  reachable: 'THE ENGINE ANSWERS: the route is not retired',
  unknown: 'nothing is proved: not every probe was answered',
} as const;

/** Prints whether a route to the engine is retired. Needs no settings. Exit codes: 0 retired, 1 a sign of the engine, 2 a probe unanswered. */
export async function verifyRetiredRoute(url: string, { json }: { json?: true }): Promise<number> {
  const result = await routeVerdict(url);
  if (result === null) throw new UnusableInput([`${url} is not a web address such as https://trino.example.org`]);
  if (json) printJson(result);
  else print([...result.lines, VERDICT_SUMMARIES[result.verdict]]);
  return EXIT_CODES[result.verdict];
}

/** Probes whether a former host of the engine still leads to it. Null: the text is no web address, or contains credentials. */
export async function routeVerdict(host: string): Promise<RouteVerdict | null> {
  const probes = routeProbes(host);
  return probes && judgeRoute(await Promise.all(probes.map(sendProbe)));
}

/** Sends a request without credentials to the host. Follows no redirects and uses no proxies of the environment. */
async function sendProbe({ probe, method, url, headers, body }: RouteProbe): Promise<RouteAnswer> {
  try {
    const answer = await axios.request<Readable>({
      method,
      url,
      headers: {
        'Content-Type': 'text/plain; charset=utf-8',
        'Accept-Encoding': 'identity',
        'User-Agent': USER_AGENT,
        ...headers,
      },
      data: body,
      proxy: false,
      maxRedirects: 0,
      validateStatus: null,
      responseType: 'stream',
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    const fields = Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const);
    const bodyStart = await beginningOf(answer.data);
    return { kind: 'answer', probe, status: answer.status, headers: Object.fromEntries(fields), body: bodyStart };
  } catch (error) {
    const code = axios.isAxiosError(error) ? error.code : undefined;
    return { kind: 'silence', probe, reason: code === 'ERR_CANCELED' ? 'no answer in time' : (code ?? 'unknown') };
  }
}

async function beginningOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= MAX_READ_BYTES) break;
    }
  } catch {
    // The body broke off. The bytes read so far are returned, because they may show a sign of the engine.
  }
  return Buffer.concat(chunks).subarray(0, MAX_READ_BYTES).toString('utf8');
}

/** The result of one probe of the former host. */
export type RouteAnswer =
  | { kind: 'answer'; probe: string; status: number; headers: Readonly<Record<string, string>>; body: string }
  | { kind: 'silence'; probe: string; reason: string };

/**
 * `retired`: every probe was answered, and no answer shows a sign of an engine. `reachable`: an answer shows such a sign.
 * `unknown`: a probe was not answered, so nothing is proved.
 */
interface RouteVerdict {
  verdict: 'retired' | 'reachable' | 'unknown';
  lines: string[];
}

/** Matches headers and texts of engines (seen on Trino 483). */
const ENGINE_CHALLENGE = /realm="?(trino|presto)|token_type="?jwt/i;
const ENGINE_HEADER = /^x-(trino|query|presto)-/i;
const ENGINE_TEXTS = [
  'Basic authentication or X-Trino-Original-User or X-Trino-User must be sent',
  'Authentication over HTTP is not enabled',
  'Both Trino and Query headers detected',
  'Server configuration does not allow processing of the X-Forwarded',
  'SQL statement is empty',
  'Schema is set but catalog is not',
  'io.trino.',
  'io.prestosql.',
  'com.facebook.presto.',
] as const;

/** The first sign of an engine in an answer; null: there is none. */
export function signOfEngine(answer: Extract<RouteAnswer, { kind: 'answer' }>): string | null {
  const { headers, body } = answer;
  if (ENGINE_CHALLENGE.test(headers['www-authenticate'] ?? '')) return "the engine's challenge";
  const header = Object.keys(headers).find((name) => ENGINE_HEADER.test(name));
  if (header !== undefined) return `the header ${header}`;
  const text = ENGINE_TEXTS.find((engineText) => body.includes(engineText));
  if (text !== undefined) return `the engine's text "${text}"`;
  // Searched as text, because a long answer is cut off and cannot be parsed.
  if (/"nextUri"\s*:/.test(body) && /"id"\s*:/.test(body)) return 'a statement taken by the engine';
  if (/"infoUri"\s*:/.test(body) && /"stats"\s*:/.test(body)) return 'a statement answered by the engine';
  if (/"nodeVersion"\s*:/.test(body) && /"(coordinator|starting|environment)"\s*:/.test(body))
    return "the engine's /v1/info";
  return null;
}

/** Judges by the answers to real statements and to the information page. A 200 on `GET /` would prove nothing. */
export function judgeRoute(answers: readonly RouteAnswer[]): RouteVerdict {
  const engineSigns = answers.map((answer) => (answer.kind === 'answer' ? signOfEngine(answer) : null));
  const lines = answers.map((answer, position) => {
    if (answer.kind === 'silence') return `${answer.probe}: not answered (${answer.reason})`;
    const engineSign = engineSigns[position] ?? null;
    return `${answer.probe}: ${answer.status}, ${engineSign ?? `nothing of an engine${originText(answer.headers)}`}`;
  });
  if (engineSigns.some((sign) => sign !== null)) return { verdict: 'reachable', lines };
  const hasUnansweredProbe = answers.some((answer) => answer.kind === 'silence');
  return { verdict: hasUnansweredProbe ? 'unknown' : 'retired', lines };
}

function originText(headers: Readonly<Record<string, string>>): string {
  const { server, location } = headers;
  return `${server === undefined ? '' : `, from ${server}`}${location === undefined ? '' : `, redirected to ${location}`}`;
}

/** The former host's statement endpoint and information page; null: the text is no web address. */
export function routeUrls(text: string): { statementUrl: string; infoUrl: string } | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  if (url.username !== '' || url.password !== '') return null;
  const baseUrl = url.origin + url.pathname.replace(/\/+$/, '').replace(/\/v1\/statement$/, '');
  return { statementUrl: `${baseUrl}/v1/statement`, infoUrl: `${baseUrl}/v1/info` };
}

interface RouteProbe {
  probe: string;
  method: 'GET' | 'POST';
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string | null;
}

/** The user name that probes claim in headers. On the former host the engine trusted such headers. */
const CLAIMED_USER = 'grantline-verification';

function routeProbes(host: string): RouteProbe[] | null {
  const urls = routeUrls(host);
  if (urls === null) return null;
  const statement = { method: 'POST', url: urls.statementUrl, body: 'SELECT 1' } as const;
  return [
    { ...statement, probe: 'SELECT 1 as X-Trino-User', headers: { 'X-Trino-User': CLAIMED_USER } },
    { ...statement, probe: 'SELECT 1 as X-Query-User', headers: { 'X-Query-User': CLAIMED_USER } },
    { ...statement, probe: 'SELECT 1 as nobody', headers: {} },
    { probe: 'GET /v1/info', method: 'GET', url: urls.infoUrl, headers: {}, body: null },
  ];
}
