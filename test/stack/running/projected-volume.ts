import { mkdir, mkdtemp, readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Writes files the way a kubelet fills the volume of a ConfigMap: into a new folder with a timestamp in its name, to which
 * the link `..data` is moved in one step; `NAME` is a link to `..data/NAME`. A reader of `NAME` sees either all of the previous
 * files or all of the new ones (Kubernetes, pkg/volume/util/atomic_writer.go).
 */
export async function writeProjectedVolume(
  volume: string,
  files: ReadonlyMap<string, Buffer>,
  now: Date,
): Promise<void> {
  await mkdir(volume, { recursive: true });
  const previous = await readlink(join(volume, '..data')).catch(() => undefined);

  const folder = await mkdtemp(join(volume, `..${timestamp(now)}.`));
  for (const [name, content] of files) await writeFile(join(folder, name), content);
  const next = join(volume, '..data_tmp');
  await rm(next, { force: true });
  await symlink(folder.slice(volume.length + 1), next);
  await rename(next, join(volume, '..data'));

  const visible = (await readdir(volume)).filter((name) => !name.startsWith('..'));
  for (const name of files.keys()) {
    if (!visible.includes(name)) await symlink(join('..data', name), join(volume, name));
  }
  for (const name of visible) {
    if (!files.has(name)) await rm(join(volume, name));
  }
  if (previous !== undefined) await rm(join(volume, previous), { recursive: true });
}

/** `2026_11_20_21_45_59` */
function timestamp(now: Date): string {
  return now.toISOString().slice(0, 19).replace(/[-T:]/g, '_');
}
