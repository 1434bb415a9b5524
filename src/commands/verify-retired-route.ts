import type { Readable } from 'node:stream';
import axios from 'axios';
import { USER_AGENT } from '../platform/operations/version.js';
import {
  judgeRoute,
  type RouteAnswer,
  type RouteQuestion,
  routeQuestions,
  type RouteVerdict,
} from '../query-engine/domain/retired-route.js';
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
