// npm run bench:check: the whole process of `acl check` on 8,000 rules, some of them dead, against one of Node that only parses them.
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median, medianRatio, ratioTable } from './ratio.js';

const RULES = 8_000;
const DEAD_EVERY = 20;
const TURNS = 9;
const REPORT_CPU =
  'data:text/javascript,process.on("exit",()=>process.stderr.write("cpu "+Math.round(process.cpuUsage().user/1000)))';

function rulesFile(): string {
  const rules = Array.from({ length: RULES }, (_, index) => {
    const i = index % DEAD_EVERY === 0 ? Math.max(0, index - 1) : index;
    const users = [0, 1, 2].map((k) => `user${(i * 7 + k) % 900}`).join('|');
    const table = i % 10 === 0 ? '.*' : `t${Math.floor(i / 3)}`;
    return { user: users, catalog: `cat${i % 20}`, schema: `schema_${i % 400}`, table, privileges: ['SELECT'] };
  });
  return `{"tables": [\n${rules.map((rule) => JSON.stringify(rule)).join(',\n')}\n]}\n`;
}

/** Milliseconds of the process's own CPU time. */
function cpuOf(...args: string[]): number {
  const { stderr } = spawnSync(process.execPath, ['--import', REPORT_CPU, ...args], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  return Number(/cpu (\d+)$/.exec(stderr)?.[1]);
}

const folder = await mkdtemp(join(tmpdir(), 'grantline-bench-check-'));
try {
  const file = join(folder, 'rules.json');
  await writeFile(file, rulesFile());
  const parse = `JSON.parse(require('node:fs').readFileSync(${JSON.stringify(file)}, 'utf8'))`;
  const ours: number[] = [];
  const bare: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    ours.push(cpuOf('dist/main.js', 'acl', 'check', file));
    bare.push(cpuOf('-e', parse));
  }
  console.log(
    ratioTable([
      {
        what: 'acl check / node with JSON.parse, processor time',
        ratio: medianRatio(ours, bare),
        target: { atMost: 16 },
        figures: `${median(ours)} ms, ${median(bare)} ms`,
      },
    ]),
  );
} finally {
  await rm(folder, { recursive: true });
}
