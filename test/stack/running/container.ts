import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCKERFILE = join(import.meta.dirname, '..', '..', '..', 'Dockerfile');

/** Mounts the root read-only, with an empty /tmp, in namespaces of its own, and becomes the user before the command begins. */
const ENTER = `
set -eu
root=$1 user=$2 group=$3 folder=$4
shift 4
mount --bind "$root" "$root"
mount -t tmpfs -o size=64m,mode=1777 tmpfs "$root/tmp"
mount --rbind /proc "$root/proc"
for device in null urandom; do mount --bind "/dev/$device" "$root/dev/$device"; done
mount -o remount,bind,ro "$root"
exec unshare --user --map-user="$user" --map-group="$group" --root="$root" --wd="$folder" "$@"
`;

/** How the image of the Dockerfile's last stage is run. */
export interface ImageSettings {
  from: string;
  env: Record<string, string>;
  user: string;
  folder: string;
  entryPoint: string[];
  command: string[];
  healthCheck: string[];
  ports: string[];
  labels: Record<string, string>;
}

export function imageSettings(): ImageSettings {
  const text = readFileSync(DOCKERFILE, 'utf8')
    .replace(/^#.*\n/gm, '')
    .replaceAll('\\\n', ' ');
  const last = text.slice(text.lastIndexOf('\nFROM ') + 1);
  const instruction = (name: string): string => {
    const found = new RegExp(`^${name}\\s+(.*)$`, 'm').exec(last)?.[1];
    if (found === undefined) throw new Error(`the Dockerfile's last stage has no ${name}`);
    return found.trim();
  };
  const words = (name: string): string[] => JSON.parse(/\[.*\]$/.exec(instruction(name))?.[0] ?? 'null') as string[];
  return {
    from: instruction('FROM'),
    env: Object.fromEntries(
      instruction('ENV')
        .split(/\s+/)
        .map((pair) => pair.split(/=(.*)/s, 2)),
    ) as Record<string, string>,
    user: instruction('USER'),
    folder: instruction('WORKDIR'),
    entryPoint: words('ENTRYPOINT'),
    command: words('CMD'),
    healthCheck: words('HEALTHCHECK'),
    ports: instruction('EXPOSE').split(' '),
    labels: Object.fromEntries(
      [...instruction('LABEL').matchAll(/(\S+)="(.*?)"/g)].map(([, name = '', value = '']) => [name, value]),
    ),
  };
}

/** A program that runs `command` in the image, without rights of its own and with its environment alone; works for any user. */
export function inImage(
  root: string,
  { env, user, folder }: ImageSettings,
  command: readonly string[],
  environment: Record<string, string> = {},
): { command: string; args: string[]; env: Record<string, string> } {
  const [uid = '', gid = ''] = user.split(':');
  return {
    command: 'unshare',
    args: ['--user', '--map-root-user', '--mount', 'sh', '-c', ENTER, 'enter', root, uid, gid, folder, ...command],
    env: { PATH: process.env['PATH'] ?? '', ...env, ...environment },
  };
}
