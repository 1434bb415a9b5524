import type { RouteAnswer } from './retired-route.js';

export interface RouteQuestion {
  /** For people: what is asked. */
  probe: string;
  method: 'GET' | 'POST';
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string | null;
}

/** Asks a host that should not be the engine, as a stranger: no credentials, no redirects followed, the answer capped. */
export abstract class RouteProbe {
  abstract ask(question: RouteQuestion): Promise<RouteAnswer>;
}
