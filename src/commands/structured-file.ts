import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { readJson } from '../kernel/json-reader.js';

/**
 * Reads a file of JSON or YAML. JSON is YAML, too; but read as YAML, 100,000 grants take 1.7 GB, which is more than compiling and
 * proving them does.
 */
export async function readStructured(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8');
  const { root, faults } = readJson(text);
  return root !== null && faults.length === 0 ? JSON.parse(text) : parse(text);
}
