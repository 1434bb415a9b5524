import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A slip, as a text of the built code that is replaced. */
export interface PlantedFault {
  /** Under `dist`. */
  file: string;
  from: string;
  to: string;
  /** The finding to expect. */
  found: RegExp;
}

/** Replaces a text in a copy of the built code, where it must stand exactly once. The file may be a link: it becomes a new one. */
export function plant(copy: string, { file, from, to }: PlantedFault): void {
  const path = join(copy, file);
  const parts = readFileSync(path, 'utf8').split(from);
  if (parts.length !== 2) throw new Error(`${file} holds ${JSON.stringify(from)} ${parts.length - 1} times`);
  rmSync(path);
  writeFileSync(path, parts.join(to));
}
