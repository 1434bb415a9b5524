import { NestFactory } from '@nestjs/core';
import { RetiredRouteModule } from '../query-engine/retired-route.module.js';
import { RetiredRouteService } from '../query-engine/retired-route.service.js';
import { print, remark } from './output.js';

const EXIT = { retired: 0, reachable: 1, unknown: 2 } as const;

const SUMMARIES = {
  retired: 'the route is retired: nothing that answered is an engine',
  reachable: 'THE ENGINE ANSWERS: the route is not retired',
  unknown: 'nothing is proved: not every probe was answered',
} as const;

/** Needs no settings, no database and no engine. Exit codes: 0 retired, 1 a sign of the engine, 2 not every probe was answered. */
export async function verifyRetiredRoute(url: string, { json }: { json?: true }): Promise<number> {
  const modules = await NestFactory.createApplicationContext(RetiredRouteModule, { logger: false });
  const found = await modules.get(RetiredRouteService).verify(url);
  await modules.close();
  if (found === null) {
    remark(`${url} is not a web address such as https://trino.example.org`);
    return 2;
  }
  print(json ? JSON.stringify(found) : [...found.lines, SUMMARIES[found.verdict]].join('\n'));
  return EXIT[found.verdict];
}
