import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { Writable } from 'node:stream';
import { RegistrationModule } from '../auth/registration.module.js';
import { RegistrationService } from '../auth/registration.service.js';
import { Refused } from '../kernel/errors.js';
import { print, remark } from './output.js';
import { withModules } from './with-modules.js';

interface Options {
  username: string;
  email: string;
  passwordFile?: string;
  json?: true;
}

/** Makes an administrator. Exit code 1: the name or the address is taken; 2: it breaks a rule. */
export async function createAdministrator({ username, email, passwordFile, json }: Options): Promise<void> {
  const password =
    passwordFile === undefined ? await askPassword() : finalNewlineCut(await readFile(passwordFile, 'utf8'));
  const needs = { command: 'users create-admin', module: () => RegistrationModule } as const;
  process.exitCode = await withModules(needs, async (modules) => {
    try {
      const outcome = await modules.get(RegistrationService).createAdministrator({ username, email, password });
      if (outcome.kind !== 'registered') {
        remark(outcome.kind === 'username-taken' ? `the name ${username} is taken` : `the address ${email} is taken`);
        return 1;
      }
      const { id } = outcome.account;
      print(
        json ? JSON.stringify({ id, username, email, role: 'admin' }) : `administrator ${username} has the id ${id}`,
      );
      return 0;
    } catch (error) {
      if (!(error instanceof Refused) || error.errors === undefined) throw error;
      for (const { field, message } of error.errors) remark(`${field} ${message}`);
      return 2;
    }
  });
}

/** From standard input; at a terminal with a prompt and without echo. */
async function askPassword(): Promise<string> {
  if (!process.stdin.isTTY) return finalNewlineCut(await text(process.stdin));
  process.stderr.write('password: ');
  const silence = new Writable({ write: (_, __, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: silence, terminal: true });
  try {
    return await terminal.question('');
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}

/** The newline that `echo` adds is not part of the password. */
function finalNewlineCut(content: string): string {
  return content.replace(/\r?\n$/, '');
}
