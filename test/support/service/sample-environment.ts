import { readFileSync } from 'node:fs';

/** `.env.example` as container runtimes and service managers read it: whatever follows `=` is the value, comments included. */
export function sampleEnvironment(): Record<string, string> {
  const lines = readFileSync('.env.example', 'utf8').split('\n');
  return Object.fromEntries(
    lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => line.split(/=(.*)/s, 2)),
  ) as Record<string, string>;
}
