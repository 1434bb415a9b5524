import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { runs } from '../../support/landing.js';

/** In the environment: the folder of a virtual environment with Schemathesis. */
export const FUZZER = 'GRANTLINE_FUZZER';
/** In the environment: how many requests are derived for each route, and from which number. */
const EXAMPLES = 'GRANTLINE_FUZZ_EXAMPLES';
/** Drawn where it is not given. */
export const SEED = 'GRANTLINE_FUZZ_SEED';

const CONFIG = join(import.meta.dirname, 'schemathesis.toml');
const SIGN_IN = join(import.meta.dirname, 'sign_in.py');

/** How requests are signed in: see sign_in.py. */
export interface Sender {
  /** Answers every POST with a new access token; null: no session. */
  tokenUrl: string | null;
  /** After a response with one of these codes, a new access token is needed. */
  revokingCodes: readonly string[];
}

export interface Verdict {
  exitCode: number | null;
  /** What it has done and found, with a command for each finding that repeats it. */
  report: string;
}

/** Lets Schemathesis derive requests from a service's OpenAPI document, send them, and check every answer against it. */
export async function schemathesis(
  service: string,
  { tokenUrl, revokingCodes }: Sender,
  folder: string,
): Promise<Verdict> {
  const {
    [FUZZER]: home,
    [EXAMPLES]: examples = String(runs(25)),
    [SEED]: seed = String(randomInt(2 ** 31)),
  } = process.env;
  if (home === undefined) throw new Error(`${FUZZER} is not set: run this through npm run test:fuzz`);
  const child = spawn(
    join(home, 'bin', 'python'),
    [
      ...['-m', 'schemathesis.cli', '--config-file', CONFIG, 'run', `${service}/api/openapi.json`],
      ...['--max-examples', examples, '--seed', seed, '--no-color'],
    ],
    {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        SCHEMATHESIS_HOOKS: SIGN_IN,
        PYTHONDONTWRITEBYTECODE: '1',
        GRANTLINE_FUZZ_REVOKING_CODES: revokingCodes.join(' '),
        ...(tokenUrl === null ? {} : { GRANTLINE_FUZZ_TOKEN_URL: tokenUrl }),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let report = `${SEED}=${seed} ${EXAMPLES}=${examples}\n`;
  for (const output of [child.stdout, child.stderr]) output.on('data', (text: Buffer) => (report += text.toString()));
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { exitCode, report };
}
