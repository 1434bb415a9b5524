import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readPlainFile } from './plain-file.js';
import { createFile } from './whole-file.js';

/**
 * The signing secret of a machine without settings: made once, kept beside the development data, so that sessions
 * survive a restart. Never used in production. Two processes that start together agree: the first to write wins.
 */
export async function developmentSecret(dataDir: string): Promise<string> {
  const file = join(dataDir, 'development-secret');
  mkdirSync(dataDir, { recursive: true });
  await createFile(file, randomBytes(48).toString('base64'), 0o600);
  return readPlainFile(file).trim();
}
