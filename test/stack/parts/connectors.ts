import { createHash } from 'node:crypto';
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { Processes } from '../running/processes.js';
import { cached } from './cache.js';
import { compileJava, downloadJars, registerPlugin, TRINO_VERSION } from './trino.js';

/** The engine's own PostgreSQL connector is published as no jar. */
const POSTGRES = join(import.meta.dirname, 'Postgres.java');
/** The first needs the driver of PostgreSQL, too. */
const ARTIFACTS = ['trino-iceberg', 'trino-hive', 'trino-base-jdbc'] as const;
/** Half of the bytes: a client of another catalog, and a cache's store. */
const UNUSED = ['net.snowflake:snowflake-jdbc', 'org.rocksdb:rocksdbjni'];
const PLUGINS = ['io.trino.plugin.iceberg.IcebergPlugin', 'io.trino.plugin.hive.HivePlugin', 'Postgres'];

/**
 * A folder of plugins with the connectors `iceberg`, `hive` and `postgresql`, as one plugin: they share most of their jars. It is
 * apart from the engine's own, because it takes an engine some seconds more to start with it. 270 MB.
 */
export async function installConnectors(
  processes: Processes,
  cache: string,
  javaHome: string,
  trino: string,
): Promise<string> {
  const recipe = createHash('sha256');
  recipe.update(JSON.stringify([ARTIFACTS, UNUSED, PLUGINS])).update(await readFile(POSTGRES));
  const key = `connectors-${TRINO_VERSION}-${recipe.digest('hex').slice(0, 8)}`;

  return cached(cache, key, ['lake/classes/Postgres.class'], async (staging) => {
    const maven = await downloadJars(processes, join(staging, 'maven'), javaHome, [ARTIFACTS], UNUSED);
    const plugin = join(staging, 'lake');
    await rename(join(maven, ARTIFACTS[0], 'jars'), plugin);
    await rm(maven, { recursive: true });
    const classes = join(plugin, 'classes');
    await registerPlugin(classes, ...PLUGINS);
    await compileJava(processes, javaHome, POSTGRES, [plugin, join(trino, 'lib')], classes);
  });
}
