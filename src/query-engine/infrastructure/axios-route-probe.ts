import type { RouteAnswer } from '../domain/retired-route.js';
import { RouteProbe, type RouteQuestion } from '../domain/route-probe.js';
import { AxiosExchange } from './axios-exchange.js';

/** Milliseconds for each question. */
const DEADLINE = 15_000;
const LARGEST_ANSWER = 1024 * 1024;

export class AxiosRouteProbe extends RouteProbe {
  override async ask({ probe, method, url, headers, body }: RouteQuestion): Promise<RouteAnswer> {
    const exchange = new AxiosExchange(LARGEST_ANSWER);
    try {
      const reply = await exchange.ask({
        method,
        url,
        headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Accept-Encoding': 'identity', ...headers },
        timeout: DEADLINE,
        ...(body === null ? {} : { body }),
      });
      return { kind: 'answer', probe, status: reply.status, headers: reply.headers, body: reply.text };
    } catch (error) {
      return { kind: 'silence', probe, reason: error instanceof Error ? error.message : 'unknown' };
    } finally {
      exchange.close();
    }
  }
}
