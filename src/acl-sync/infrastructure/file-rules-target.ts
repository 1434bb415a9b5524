import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isObject, jsonOrNull } from '../../kernel/json-reader.js';
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
  namedVersionOf,
} from '../domain/rules-target.js';

const ANNOTATIONS_FILE = 'rules.json.annotations';

/**
 * The files `rules.json`, `rules.json.bak` and `rules.json.annotations` in one folder. Each is replaced by a rename, so that readers see
 * the old or the new text. The sync lock keeps other processes from writing. Writes compare the content first, because file systems
 * have no conditional writes.
 */
export class FileRulesTarget extends RulesTarget {
  override readonly name: string;
  override readonly key = 'file';
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
      await this.readBytes(ANNOTATIONS_FILE),
    ]);
    const parsedAnnotations = jsonOrNull(annotations?.toString('utf8') ?? '');
    const versionFields = isObject(parsedAnnotations) ? namedVersionOf(parsedAnnotations) : {};
    return { text: bytes?.toString('utf8') ?? null, ...versionFields, revision: revisionOfBytes(bytes) };
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
        return { kind: 'denied', missingRights: [`write to ${folder}`], identity: `uid ${String(process.getuid?.())}` };
      }
    });
  }

  override publish(next: NextRules, live: LiveRules): Promise<void> {
    return this.writeInTurn(() => this.catchUnavailable(() => this.replace(next, live)));
  }

  private async replace(next: NextRules, live: LiveRules): Promise<void> {
    const formerBytes = await this.readBytes('rules.json');
    if (revisionOfBytes(formerBytes) !== live.revision) throw new RulesTargetMoved();
    await mkdir(this.directory, { recursive: true });
    const nextBytes = Buffer.from(next.text);
    // The previous text is written first, so that a crash in between leaves the live rules unchanged, with a copy beside them.
    if (formerBytes !== null && !formerBytes.equals(nextBytes)) await this.write('rules.json.bak', formerBytes);
    await this.write('rules.json', nextBytes);
    // Written last, so that a version is named only after its text is in place.
    await this.write(ANNOTATIONS_FILE, Buffer.from(`${JSON.stringify(versionAnnotations(next))}\n`));
  }

  private write(file: string, content: Buffer): Promise<void> {
    return replaceFile(join(this.directory, file), content, this.mode);
  }

  /** Reads a file as bytes, so that its backup equals the file even after an edit by hand that is not UTF-8. */
  private async readBytes(name: string): Promise<Buffer | null> {
    try {
      // O_NOFOLLOW: the backup would show a linked file to everybody who may read the backup. O_NONBLOCK: a pipe without a writer would block.
      const flag = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
      return await readFile(join(this.directory, name), { flag });
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

/** The folder or, if it is missing, the nearest existing folder above it. A publication creates the missing folders. */
async function existingAncestor(folder: string): Promise<string> {
  try {
    await stat(folder);
    return folder;
  } catch (failure) {
    if (codeOf(failure) !== 'ENOENT' || dirname(folder) === folder) throw failure;
    return existingAncestor(dirname(folder));
  }
}

function revisionOfBytes(bytes: Buffer | null): string {
  return bytes === null ? 'absent' : createHash('sha256').update(bytes).digest('hex');
}
