import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, open, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { jsonOrNull } from '../../kernel/json-reader.js';
import { serialRunner } from '../../kernel/promises.js';
import { codeOf } from '../../platform/files/plain-file.js';
import { replaceFile } from '../../platform/files/whole-file.js';
import {
  type LiveRules,
  type NextRules,
  RulesTarget,
  RulesTargetMoved,
  RulesTargetUnavailable,
  type TargetAccess,
  versionAnnotations,
  writtenOf,
} from '../domain/rules-target.js';

const ANNOTATIONS = 'rules.json.annotations';

/**
 * `rules.json` and `rules.json.bak` in one folder, replaced by rename, so that readers see the old or the new text, and the annotations in
 * `rules.json.annotations`. The sync lock keeps other processes from writing. Writes compare the content first, because file systems have
 * no conditional writes.
 */
export class FileRulesTarget extends RulesTarget {
  override readonly name: string;
  override readonly limitBytes = null;
  private readonly directory: string;
  private readonly writeInTurn = serialRunner();

  /** @param mode the permissions of the files. */
  constructor(
    directory: string,
    private readonly mode: number,
  ) {
    super();
    this.directory = resolve(directory);
    this.name = `file ${join(directory, 'rules.json')}`;
  }

  override async read(): Promise<LiveRules> {
    const [bytes, annotations] = await this.catchUnavailable(async () => [
      await this.readBytes('rules.json'),
      await this.readBytes(ANNOTATIONS),
    ]);
    return { text: bytes?.toString('utf8') ?? null, ...writtenOf(objectOf(annotations)), revision: revisionOf(bytes) };
  }

  override async checkAccess(): Promise<TargetAccess> {
    await this.read();
    return this.catchUnavailable(async () => {
      const folder = await existingAncestor(this.directory);
      try {
        await access(folder, constants.W_OK | constants.X_OK);
        return { kind: 'granted' };
      } catch (failure) {
        if (codeOf(failure) === null) throw failure;
        return { kind: 'denied', missing: [`write to ${folder}`], identity: `uid ${String(process.getuid?.())}` };
      }
    });
  }

  override publish(next: NextRules, live: LiveRules): Promise<void> {
    return this.writeInTurn(() => this.catchUnavailable(() => this.replace(next, live)));
  }

  private async replace(next: NextRules, live: LiveRules): Promise<void> {
    const former = await this.readBytes('rules.json');
    if (revisionOf(former) !== live.revision) throw new RulesTargetMoved();
    await mkdir(this.directory, { recursive: true });
    const rules = Buffer.from(next.text);
    // The previous text is written first, so that a crash in between leaves the live rules unchanged, with a copy beside them.
    if (former !== null && !former.equals(rules)) await this.write('rules.json.bak', former);
    await this.write('rules.json', rules);
    // Written last, so that a version is named only after its text is in place.
    await this.write(ANNOTATIONS, Buffer.from(`${JSON.stringify(versionAnnotations(next))}\n`));
  }

  private write(file: string, content: Buffer): Promise<void> {
    return replaceFile(join(this.directory, file), content, this.mode);
  }

  /** Reads a file as bytes, because an edit by hand may not be UTF-8 and its backup must not change it. */
  private async readBytes(name: string): Promise<Buffer | null> {
    try {
      // A link is not followed: the backup would expose its target to all readers. A pipe without a writer must not block.
      const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
      const file = await open(join(this.directory, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      try {
        return await file.readFile();
      } finally {
        await file.close();
      }
    } catch (failure) {
      if (codeOf(failure) === 'ENOENT') return null;
      throw failure;
    }
  }

  private async catchUnavailable<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (failure) {
      const code = codeOf(failure);
      if (code === null) throw failure;
      const reason = code === 'EACCES' || code === 'EPERM' || code === 'EROFS' ? 'forbidden' : 'unreachable';
      throw new RulesTargetUnavailable(reason, `${this.directory} cannot be read or written: ${code}`);
    }
  }
}

/** The folder itself, or the nearest existing one above it, in which a publication creates the missing ones. */
async function existingAncestor(folder: string): Promise<string> {
  try {
    await stat(folder);
    return folder;
  } catch (failure) {
    if (codeOf(failure) !== 'ENOENT' || dirname(folder) === folder) throw failure;
    return existingAncestor(dirname(folder));
  }
}

/** The object in a file; empty if the file is missing or contains something else. */
function objectOf(bytes: Buffer | null): Record<string, unknown> {
  const value = jsonOrNull(bytes?.toString('utf8') ?? '');
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function revisionOf(bytes: Buffer | null): string {
  return bytes === null ? 'absent' : createHash('sha256').update(bytes).digest('hex');
}
