import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyBuild } from '../service/copied-build.js';

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

/** Who is in two groups loses what one of them gives. */
export const ONE_GROUP_ALONE: PlantedFault = {
  file: 'trino-rules/compile/access-state.js',
  from: "givenRights | rightBits(entry.privileges, 'gives')",
  to: "rightBits(entry.privileges, 'gives')",
  found: /may SELECT .*?sales\.eu\.orders.*?group/,
};

/** A copy of the built service with a slip in it. @returns its folder, in the given one */
export function brokenBuild(folder: string, fault: PlantedFault): string {
  const copy = mkdtempSync(join(folder, 'broken-'));
  copyBuild(copy);
  plant(join(copy, 'dist'), fault);
  // Instead of the bundle of what was built.
  writeFileSync(join(copy, 'dist/preparation.js'), "import './acl-sync/infrastructure/preparation.js';\n");
  return copy;
}
