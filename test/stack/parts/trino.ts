import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { delimiter, join } from 'node:path';

import type { Processes } from '../running/processes.js';
import { cached } from './cache.js';

export const TRINO_VERSION = '483';
const DEPENDENCY_PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';
const LAUNCHER = join(import.meta.dirname, 'Engine.java');
/** The engine's own group provider is in a plugin that is published as no jar. */
const GROUPS = join(import.meta.dirname, 'Groups.java');

/** Artifact → where it belongs. A plugin's jars lack the file that names its class, so we add it. */
const PLUGINS = [
  { name: 'tpch', artifact: 'trino-tpch', plugin: 'io.trino.plugin.tpch.TpchPlugin' },
  { name: 'memory', artifact: 'trino-memory', plugin: 'io.trino.plugin.memory.MemoryPlugin' },
];

/**
 * A Trino coordinator, put together from the jars that are published for every version: `lib/` with the server, `plugin/`
 * with the connectors, `launcher/` with the main class that those jars lack. About 150 MB.
 */
export async function installTrino(processes: Processes, cache: string, javaHome: string): Promise<string> {
  const sources = await Promise.all([LAUNCHER, GROUPS].map((file) => readFile(file, 'utf8')));
  const recipe = createHash('sha256').update(JSON.stringify([PLUGINS, DEPENDENCY_PLUGIN, ...sources]));
  const key = `trino-${TRINO_VERSION}-${recipe.digest('hex').slice(0, 8)}`;

  return cached(cache, key, ['lib', 'plugin/groups/classes/Groups.class', 'launcher/Engine.class'], async (staging) => {
    const maven = await downloadJars(processes, join(staging, 'maven'), javaHome, [
      ['trino-main'],
      ...PLUGINS.map(({ artifact }) => [artifact] as const),
    ]);
    await rename(join(maven, 'trino-main', 'jars'), join(staging, 'lib'));
    await mkdir(join(staging, 'plugin'), { recursive: true });
    for (const { name, artifact, plugin } of PLUGINS) {
      await rename(join(maven, artifact, 'jars'), join(staging, 'plugin', name));
      await registerPlugin(join(staging, 'plugin', name, 'services'), plugin);
    }
    await rm(maven, { recursive: true });
    const classes = join(staging, 'plugin', 'groups', 'classes');
    await registerPlugin(classes, 'Groups');
    await compileJava(processes, javaHome, LAUNCHER, [join(staging, 'lib')], join(staging, 'launcher'));
    await compileJava(processes, javaHome, GROUPS, [join(staging, 'lib')], classes);
  });
}

/** The file that names the classes of a plugin, in a folder beside its jars. */
export async function registerPlugin(folder: string, ...classNames: string[]): Promise<void> {
  const services = join(folder, 'META-INF', 'services');
  await mkdir(services, { recursive: true });
  await writeFile(join(services, 'io.trino.spi.Plugin'), classNames.map((name) => `${name}\n`).join(''));
}

/** @param jars folders of jars; the jars of an earlier one win */
export async function compileJava(
  processes: Processes,
  javaHome: string,
  source: string,
  jars: readonly string[],
  folder: string,
): Promise<void> {
  await processes.complete({
    name: 'compile-java',
    command: join(javaHome, 'bin', 'javac'),
    args: ['-cp', jars.map((each) => join(each, '*')).join(delimiter), '-d', folder, source],
  });
}

/**
 * Downloads artifacts of the engine with all that they need, by one Maven project with a module for each set, so that each gets its own
 * resolution and its own folder.
 * @param without artifacts (`group:name`) that nothing here loads
 * @returns the project: the jars of a set lie in `<its first artifact>/jars`
 */
export async function downloadJars(
  processes: Processes,
  folder: string,
  javaHome: string,
  sets: readonly (readonly [string, ...string[]])[],
  without: readonly string[] = [],
): Promise<string> {
  await writeProject(folder, sets, without);
  await processes.complete({
    name: 'download-jars',
    command: 'mvn',
    args: [
      '-B',
      '-q',
      '-C',
      `${DEPENDENCY_PLUGIN}:copy-dependencies`,
      '-DincludeScope=runtime',
      '-DoutputDirectory=jars',
    ],
    env: { JAVA_HOME: javaHome },
    cwd: folder,
  });
  return folder;
}

async function writeProject(
  folder: string,
  sets: readonly (readonly [string, ...string[]])[],
  without: readonly string[],
): Promise<void> {
  const project = (name: string, content: string) =>
    `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>` +
    `<groupId>grantline.stack</groupId><artifactId>${name}</artifactId><version>1</version><packaging>pom</packaging>` +
    `${content}</project>\n`;
  const element = (name: string, artifact: string, content = '') => {
    const [group = '', id = ''] = artifact.split(':');
    return `<${name}><groupId>${group}</groupId><artifactId>${id}</artifactId>${content}</${name}>`;
  };
  const rest =
    `<version>${TRINO_VERSION}</version>` +
    `<exclusions>${without.map((artifact) => element('exclusion', artifact)).join('')}</exclusions>`;
  const dependencies = (artifacts: readonly string[]) =>
    `<dependencies>${artifacts.map((id) => element('dependency', `io.trino:${id}`, rest)).join('')}</dependencies>`;

  await mkdir(folder);
  const modules = sets.map(([name]) => `<module>${name}</module>`).join('');
  await writeFile(join(folder, 'pom.xml'), project('engine', `<modules>${modules}</modules>`));
  for (const artifacts of sets) {
    await mkdir(join(folder, artifacts[0]));
    await writeFile(join(folder, artifacts[0], 'pom.xml'), project(`needs-${artifacts[0]}`, dependencies(artifacts)));
  }
}
