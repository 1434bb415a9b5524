import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { asSuperuser, testPostgres } from '../../support/database/database.js';
import { kubectlOf, openStack, type ChartStack } from '../stack.js';
import { HELM_4 } from './rendering.js';
import { StandIn } from './stand-in.js';

const stack: ChartStack = openStack(process.env);
const ROOT = join(import.meta.dirname, '..', '..', '..');
const GUIDE = readFileSync(join(ROOT, 'docs', 'install.md'), 'utf8');
const DEADLINE = 600_000;

/** What the guide calls `portal`, `engine`, and the database with its two roles. */
const [OWN, ENGINE] = ['guide-portal', 'guide-engine'];
const DATABASE = `guide_${randomUUID().replaceAll('-', '')}`;
const [OWNER, SERVICE] = [`${DATABASE}_owner`, `${DATABASE}_service`];
const PASSWORD = 'a password for the administrator';

interface Block {
  section: string;
  language: string;
  text: string;
}

/** The blocks of the guide in their order, with the headings that they are printed below. */
function blocks(): Block[] {
  return GUIDE.split(/^## /m).flatMap((part) => {
    const section = (part.split('\n', 1)[0] ?? '').replace(/^\d+\. /, '');
    return [...part.matchAll(/^```(\S.*)\n([^]*?)^```/gm)].map(([, language = '', text = '']) => ({
      section,
      language,
      text,
    }));
  });
}

const printed = (language: string): string =>
  blocks()
    .filter((block) => block.language === language)
    .map(({ section, text }) => (language === 'sh' ? `echo '## ${section}'\n${text}` : text))
    .join('');

/** Names of this installation instead of the guide's. */
function placed(text: string): string {
  return text
    .replaceAll(/\bportal\b/g, OWN)
    .replaceAll(/(namespace:?) engine\b/g, `$1 ${ENGINE}`)
    .replace('sha256:…', `sha256:${'0'.repeat(64)}`);
}

function urlOf(role: string): string {
  const url = new URL(testPostgres().url);
  return Object.assign(url, { username: role, password: 'guide', pathname: `/${DATABASE}` }).href;
}

describe('docs/install.md', () => {
  const standIn = new StandIn(stack, OWN);
  const folder = mkdtempSync(join(stack.folder, 'guide-'));
  const programs = join(folder, 'programs');
  const { kubeconfig } = stack.cluster;
  let output: string;

  it('has no block that is neither run here nor names what it needs', () => {
    const known =
      /^(sql|yaml|sh|sh needs=(docker|keycloak|network|kubelet|engine)|(nginx|yaml) needs=proxy|yaml needs=clusters)$/;
    expect(blocks().filter(({ language }) => !known.test(language))).toEqual([]);
    expect(blocks().filter(({ language }) => language === 'sh').length).toBeGreaterThan(15);
  });

  it(
    'can be followed as printed, from a checkout and an empty cluster',
    async () => {
      for (const part of ['helm', 'docs']) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
      writeFileSync(join(folder, 'values.yaml'), placed(printed('yaml')));
      const statements = printed('sql')
        .replaceAll('…', 'guide')
        .replaceAll('grantline_owner', OWNER)
        .replace('ROLE grantline ', `ROLE ${SERVICE} `)
        .replace('DATABASE grantline ', `DATABASE ${DATABASE} `);
      for (const statement of statements.split(';\n').filter((text) => text.trim() !== ''))
        await asSuperuser(statement);

      const script = placed(printed('sh'))
        .replace(/^owner_url=.*$/m, `owner_url='${urlOf(OWNER)}'`)
        .replace(/^service_url=.*$/m, `service_url='${urlOf(SERVICE)}'`)
        .replaceAll('http://localhost:3000', `$(cat ${join(standIn.folder, 'service.url')})`)
        .replaceAll('curl -sS', 'curl -sS --fail-with-body');
      layOutPrograms();
      standIn.start();
      output = await session(`client_secret=generated-by-the-provider\n${script}`);
    },
    DEADLINE,
  );
  afterAll(async () => {
    await standIn.stop();
    await asSuperuser(`DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`);
    for (const role of [OWNER, SERVICE]) await asSuperuser(`DROP ROLE IF EXISTS ${role}`);
  });

  it('prints at each step what the guide promises', async () => {
    const section = (name: string): string => output.split(`## ${name}\n`).slice(1).join('').split('\n## ', 1)[0] ?? '';
    expect(section('Namespaces')).toMatch(/^yes$/m);
    expect(section('Install')).toContain('successfully rolled out');
    expect(section('The first administrator')).toMatch(/\b1\b/);
    expect(section('Publish')).toMatch(/TRINO_ACL_SYNC_(APPLIED|NO_CHANGE)/);
    expect(section('Publish')).toContain('grantline.io/generation');
    expect(section('The engine').match(/Phase: +Succeeded/g)).toHaveLength(2);
    expect(section('The loop')).toMatch(/"outcome":"(applied|no_change)"/);
    expect(section('Uninstall')).toContain('release "grantline" uninstalled');
    const kept = await kubectlOf(stack)(
      ...['get', 'configmap', 'trino-access-control', `--namespace=${ENGINE}`, '--output=json'],
    );
    expect((JSON.parse(kept) as { data: Record<string, string> }).data['rules.json']).toContain('ana');
  });

  /** Of the programs that the guide calls, what a kubelet would do is done by the stand-in; psql is no part of the stack. */
  function layOutPrograms(): void {
    mkdirSync(programs);
    const program = (name: string, text: string) => {
      writeFileSync(join(programs, name), text, { mode: 0o755 });
    };
    const real = (name: string) => join(stack.parts.clusterTools, name);
    program(
      'kubectl',
      `#!/bin/bash
case $1 in
  exec) while [[ $1 != -- ]]; do shift; done; exec node ${join(programs, 'in-the-pod.mjs')} "\${@:4}" ;;
  logs) exec cat "${standIn.folder}/$(basename "\${@: -1}").log" ;;
esac
exec ${real('kubectl')} --kubeconfig=${kubeconfig} --cache-dir=${kubeconfig}.cache "$@"
`,
    );
    program('helm', `#!/bin/sh\nexec ${real(HELM_4)} "$@" --kubeconfig=${kubeconfig}\n`);
    program(
      'in-the-pod.mjs',
      `import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
const env = { PATH: process.env.PATH, ...JSON.parse(readFileSync('${standIn.folder}/service.json', 'utf8')) };
const main = ['${ROOT}/dist/main.js', ...process.argv.slice(2)];
process.exitCode = spawnSync(process.execPath, main, { env, stdio: 'inherit', cwd: '${ROOT}' }).status ?? 1;
`,
    );
    program(
      'psql',
      `#!/usr/bin/env node
const { Client } = require('${ROOT}/node_modules/pg');
const [url, , statement] = process.argv.slice(2);
const client = new Client(url);
client.connect().then(() => client.query(statement)).then(() => client.end());
`,
    );
  }

  /** @returns everything that it has written. @throws with that when a command fails */
  function session(script: string): Promise<string> {
    const env = {
      ...process.env,
      PATH: `${programs}:${process.env['PATH'] ?? ''}`,
      KUBECACHEDIR: `${kubeconfig}.cache`,
    };
    return new Promise((done, fail) => {
      const options = { cwd: folder, env, maxBuffer: 2 ** 26 };
      const child = execFile('bash', ['-euo', 'pipefail', '-c', script], options, (failure, stdout, stderr) => {
        if (failure === null) done(stdout);
        else fail(new Error(`${stdout}\n${stderr}`));
      });
      child.stdin?.end(`${PASSWORD}\n`);
    });
  }
});
