import type { Readable } from 'node:stream';
import axios from 'axios';
import { USER_AGENT } from '../platform/operations/version.js';
import { print, printJson, Unusable } from './output.js';

/** Milliseconds within which each request must be answered. */
const DEADLINE = 15_000;
/** The most bytes read of an answer, because signs of the engine stand at its beginning. */
const ENOUGH = 64 * 1024;

const EXIT = { retired: 0, reachable: 1, unknown: 2 } as const;

const SUMMARIES = {
  retired: 'the route is retired: nothing that answered is an engine',
  reachable: 'THE ENGINE ANSWERS: the route is not retired',
  unknown: 'nothing is proved: not every probe was answered',
} as const;

/** Prints whether a route to the engine is retired. Needs no settings. Exit codes: 0 retired, 1 a sign of the engine, 2 a probe unanswered. */
export async function verifyRetiredRoute(url: string, { json }: { json?: true }): Promise<number> {
  const found = await routeVerdict(url);
  if (found === null) throw new Unusable([`${url} is not a web address such as https://trino.example.org`]);
  if (json) printJson(found);
  else print([...found.lines, SUMMARIES[found.verdict]]);
  return EXIT[found.verdict];
}

/** Probes whether a former host of the engine still leads to it. Null: the text is no web address, or contains credentials. */
export async function routeVerdict(host: string): Promise<RouteVerdict | null> {
  const questions = routeQuestions(host);
  return questions && judgeRoute(await Promise.all(questions.map(ask)));
}

/** Sends a request without credentials to the host. Follows no redirects and uses no proxies of the environment. */
async function ask({ probe, method, url, headers, body }: RouteQuestion): Promise<RouteAnswer> {
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
      signal: AbortSignal.timeout(DEADLINE),
    });
    const named = Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const);
    const seen = await beginningOf(answer.data);
    return { kind: 'answer', probe, status: answer.status, headers: Object.fromEntries(named), body: seen };
  } catch (error) {
    const code = axios.isAxiosError(error) ? error.code : undefined;
    return { kind: 'silence', probe, reason: code === 'ERR_CANCELED' ? 'no answer in time' : (code ?? 'unknown') };
  }
}

/** The first bytes of a body, also if it breaks off. */
async function beginningOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= ENOUGH) break;
    }
  } catch {
    // Signs of the engine in the status, the headers and the bytes so far count, although the body broke off.
  }
  return Buffer.concat(chunks).subarray(0, ENOUGH).toString('utf8');
}

/** The result of one probe of the former host. */
export type RouteAnswer =
  | { kind: 'answer'; probe: string; status: number; headers: Readonly<Record<string, string>>; body: string }
  | { kind: 'silence'; probe: string; reason: string };

/**
 * `retired`: every probe was answered, and no answer shows a sign of an engine. `reachable`: an answer shows one.
 * `unknown`: a probe was not answered, so nothing is proved.
 */
interface RouteVerdict {
  verdict: 'retired' | 'reachable' | 'unknown';
  /** One line to print for each probe, with its result. */
  lines: string[];
}

/** Matches headers and texts of engines (seen on Trino 483). */
const CHALLENGE = /realm="?(trino|presto)|token_type="?jwt/i;
const HEADER = /^x-(trino|query|presto)-/i;
const TEXTS = [
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
  if (CHALLENGE.test(headers['www-authenticate'] ?? '')) return "the engine's challenge";
  const header = Object.keys(headers).find((name) => HEADER.test(name));
  if (header !== undefined) return `the header ${header}`;
  const text = TEXTS.find((known) => body.includes(known));
  if (text !== undefined) return `the engine's text "${text}"`;
  // Searched as text, because a long answer is cut off and cannot be parsed.
  if (/"nextUri"\s*:/.test(body) && /"id"\s*:/.test(body)) return 'a statement taken by the engine';
  if (/"infoUri"\s*:/.test(body) && /"stats"\s*:/.test(body)) return 'a statement answered by the engine';
  if (/"nodeVersion"\s*:/.test(body) && /"(coordinator|starting|environment)"\s*:/.test(body))
    return "the engine's /v1/info";
  return null;
}

/** The verdict by the answers to real statements and to the information page. A 200 on `GET /` would prove nothing. */
export function judgeRoute(answers: readonly RouteAnswer[]): RouteVerdict {
  const signs = answers.map((answer) => (answer.kind === 'answer' ? signOfEngine(answer) : null));
  const lines = answers.map((answer, position) => {
    if (answer.kind === 'silence') return `${answer.probe}: not answered (${answer.reason})`;
    const sign = signs[position] ?? null;
    return `${answer.probe}: ${answer.status}, ${sign ?? `nothing of an engine${origin(answer.headers)}`}`;
  });
  if (signs.some((sign) => sign !== null)) return { verdict: 'reachable', lines };
  const silent = answers.some((answer) => answer.kind === 'silence');
  return { verdict: silent ? 'unknown' : 'retired', lines };
}

function origin(headers: Readonly<Record<string, string>>): string {
  const { server, location } = headers;
  return `${server === undefined ? '' : `, from ${server}`}${location === undefined ? '' : `, redirected to ${location}`}`;
}

/** The former host's statement endpoint and information page; null: the text is no web address. */
export function routeUrls(text: string): { statement: string; info: string } | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  if (url.username !== '' || url.password !== '') return null;
  const base = url.origin + url.pathname.replace(/\/+$/, '').replace(/\/v1\/statement$/, '');
  return { statement: `${base}/v1/statement`, info: `${base}/v1/info` };
}

/** One request of the verification. */
interface RouteQuestion {
  /** Name of the probe to print. */
  probe: string;
  method: 'GET' | 'POST';
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string | null;
}

/** The user that probes claim in headers, which the engine trusted on the former host. */
const CLAIMED = 'grantline-verification';

/** Requests with a real statement for each prefix of user headers and without any, and for the information page; null: no web address. */
function routeQuestions(host: string): RouteQuestion[] | null {
  const urls = routeUrls(host);
  if (urls === null) return null;
  const statement = { method: 'POST', url: urls.statement, body: 'SELECT 1' } as const;
  return [
    { ...statement, probe: 'SELECT 1 as X-Trino-User', headers: { 'X-Trino-User': CLAIMED } },
    { ...statement, probe: 'SELECT 1 as X-Query-User', headers: { 'X-Query-User': CLAIMED } },
    { ...statement, probe: 'SELECT 1 as nobody', headers: {} },
    { probe: 'GET /v1/info', method: 'GET', url: urls.info, headers: {}, body: null },
  ];
}
