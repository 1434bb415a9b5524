import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const NEEDED = 25;
const INSTALLED_JDKS = '/usr/lib/jvm';

/** The home of a JDK that can run the engine, whose jars are built for Java 25. */
export function javaHome(env: NodeJS.ProcessEnv): string {
  const installed = existsSync(INSTALLED_JDKS)
    ? readdirSync(INSTALLED_JDKS).map((name) => join(INSTALLED_JDKS, name))
    : [];
  const candidates = [env['GRANTLINE_STACK_JAVA_HOME'], env['JAVA_HOME'], ...installed];
  const home = candidates.find((candidate) => candidate !== undefined && versionOf(candidate) >= NEEDED);
  if (home === undefined) {
    throw new Error(
      `a JDK ${NEEDED} or later is needed: none in ${INSTALLED_JDKS}; name one in GRANTLINE_STACK_JAVA_HOME`,
    );
  }
  return home;
}

/** The major version of a JDK, 0 if there is none; every JDK names it in its file `release`. */
function versionOf(home: string): number {
  const release = join(home, 'release');
  if (!existsSync(release) || !existsSync(join(home, 'bin', 'javac'))) return 0;
  return Number(/^JAVA_VERSION="(\d+)/m.exec(readFileSync(release, 'utf8'))?.[1] ?? 0);
}
