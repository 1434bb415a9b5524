import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { RegistrationModule } from '../auth/auth.module.js';
import { RegistrationService } from '../auth/registration.service.js';
import { Refused } from '../kernel/errors.js';
import { readInputFile } from '../platform/files/input-file.js';
import { print, printJson, printRemark, UnusableInput } from './output.js';
import { withModules } from './with-modules.js';

interface Options {
  username: string;
  email: string;
  passwordFile?: string;
  json?: true;
}

/** The largest password file in bytes. The rules for passwords allow far fewer. */
const PASSWORD_MAX_BYTES = 64_000;

/** Creates an administrator. Exit code 1: the name or the e-mail address is taken; 2: the name, the address or the password is invalid. */
export async function createAdministrator({ username, email, passwordFile, json }: Options): Promise<number> {
  const password = await readPassword(passwordFile);
  return withModules('users create-admin', [RegistrationModule], async (modules) => {
    try {
      const { id } = await modules.get(RegistrationService).createAdministrator({ username, email, password });
      if (json) printJson({ id, username, email, role: 'admin' });
      else print(`administrator ${username} has the id ${id}`);
      return 0;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const { code, details } = error;
      if (code === 'username_taken') printRemark(`the name ${username} is taken`);
      else if (code === 'email_taken') printRemark(`the address ${email} is taken`);
      else if (code !== 'validation_failed') throw error;
      for (const { field, message } of details.errors ?? []) printRemark(`${field} ${message}`);
      return code === 'validation_failed' ? 2 : 1;
    }
  });
}

/** Reads the password from a file or standard input, or asks at the terminal. @throws UnusableInput */
async function readPassword(path: string | undefined): Promise<string> {
  if (path === undefined && process.stdin.isTTY) return askPassword();
  const file = readInputFile(path ?? 0, PASSWORD_MAX_BYTES);
  if (file.kind === 'refused') throw new UnusableInput([`${path ?? 'standard input'}: ${file.reason}`]);
  // The newline that `echo` adds is not part of the password.
  return file.bytes.toString().replace(/\r?\n$/, '');
}

async function askPassword(): Promise<string> {
  process.stderr.write('password: ');
  const mutedOutput = new Writable({ write: (_, __, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: mutedOutput, terminal: true });
  try {
    return await terminal.question('');
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
