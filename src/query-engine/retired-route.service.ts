import { Injectable } from '@nestjs/common';
import { judgeRoute, routeUrls, type RouteVerdict, RouteProbe, type RouteQuestion } from './domain/retired-route.js';

/** The engine trusted a user header on the former host (source document 4.7). */
const CLAIMED = 'grantline-verification';

/** Verifies that a former host of the engine no longer leads to it. */
@Injectable()
export class RetiredRouteService {
  constructor(private readonly probe: RouteProbe) {}

  /**
   * Runs a real SQL statement there, in each family of user headers and in none.
   * @returns null: the text is no web address (http or https, without credentials in it).
   */
  async verify(url: string): Promise<RouteVerdict | null> {
    const urls = routeUrls(url);
    if (urls === null) return null;
    const statement = { method: 'POST', url: urls.statement, body: 'SELECT 1' } as const;
    const questions: RouteQuestion[] = [
      { ...statement, probe: 'SELECT 1 as X-Trino-User', headers: { 'X-Trino-User': CLAIMED } },
      { ...statement, probe: 'SELECT 1 as X-Query-User', headers: { 'X-Query-User': CLAIMED } },
      { ...statement, probe: 'SELECT 1 as nobody', headers: {} },
      { probe: 'GET /v1/info', method: 'GET', url: urls.info, headers: {}, body: null },
    ];
    return judgeRoute(await Promise.all(questions.map((question) => this.probe.ask(question))));
  }
}
