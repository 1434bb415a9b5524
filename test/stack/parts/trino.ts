import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join } from 'node:path';

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
    const maven = join(staging, 'maven');
    await writeProject(maven);
    await processes.complete({
      name: 'install-trino',
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
      cwd: maven,
    });
    await rename(join(maven, 'trino-main', 'jars'), join(staging, 'lib'));
    await mkdir(join(staging, 'plugin'), { recursive: true });
    for (const { name, artifact, plugin } of PLUGINS) {
      await rename(join(maven, artifact, 'jars'), join(staging, 'plugin', name));
      await registerPlugin(join(staging, 'plugin', name, 'services'), plugin);
    }
    await rm(maven, { recursive: true });
    const classes = join(staging, 'plugin', 'groups', 'classes');
    await registerPlugin(classes, 'Groups');
    for (const [source, folder] of [
      [LAUNCHER, join(staging, 'launcher')],
      [GROUPS, classes],
    ] as const) {
      await processes.complete({
        name: 'compile-java',
        command: join(javaHome, 'bin', 'javac'),
        args: ['-cp', join(staging, 'lib', '*'), '-d', folder, source],
      });
    }
  });
}

async function registerPlugin(folder: string, className: string): Promise<void> {
  const services = join(folder, 'META-INF', 'services');
  await mkdir(services, { recursive: true });
  await writeFile(join(services, 'io.trino.spi.Plugin'), `${className}\n`);
}

/** One Maven project with a module for each artifact, so that each gets its own resolution and its own folder. */
async function writeProject(folder: string): Promise<void> {
  const artifacts = ['trino-main', ...PLUGINS.map(({ artifact }) => artifact)];
  const project = (name: string, content: string) =>
    `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>` +
    `<groupId>grantline.stack</groupId><artifactId>${name}</artifactId><version>1</version><packaging>pom</packaging>` +
    `${content}</project>\n`;
  const dependency = (artifact: string) =>
    `<dependencies><dependency><groupId>io.trino</groupId><artifactId>${artifact}</artifactId>` +
    `<version>${TRINO_VERSION}</version></dependency></dependencies>`;

  await mkdir(folder);
  const modules = artifacts.map((artifact) => `<module>${artifact}</module>`).join('');
  await writeFile(join(folder, 'pom.xml'), project('engine', `<modules>${modules}</modules>`));
  for (const artifact of artifacts) {
    await mkdir(join(folder, artifact));
    await writeFile(join(folder, artifact, 'pom.xml'), project(`needs-${artifact}`, dependency(artifact)));
  }
}
