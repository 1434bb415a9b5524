import type { Readable } from 'node:stream';
import axios from 'axios';
import { USER_AGENT } from '../../platform/version.js';
import { type RouteAnswer, RouteProbe, type RouteQuestion } from '../domain/retired-route.js';

/** Milliseconds for each question. */
const DEADLINE = 15_000;
/** Bytes of an answer that are read: signs of the engine are at the beginning. */
const ENOUGH = 64 * 1024;

/** A connection for each request; the environment's proxies are ignored. */
export class AxiosRouteProbe extends RouteProbe {
  override async ask({ probe, method, url, headers, body }: RouteQuestion): Promise<RouteAnswer> {
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
}

/** The first bytes, also of a body that breaks off. */
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
    // The status and the headers have been read; a body that breaks off hides no sign that came before.
  }
  return Buffer.concat(chunks).subarray(0, ENOUGH).toString('utf8');
}
