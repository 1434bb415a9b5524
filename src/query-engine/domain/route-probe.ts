import type { RouteAnswer } from './retired-route.js';

export interface RouteQuestion {
  /** For display. */
  probe: string;
  method: 'GET' | 'POST';
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string | null;
}

/** Sends a request without credentials to a host that should not be the engine; no redirects, the answer capped. */
export abstract class RouteProbe {
  abstract ask(question: RouteQuestion): Promise<RouteAnswer>;
}
