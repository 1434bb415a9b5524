import { readFile } from 'node:fs/promises';
import type { RulesDocument } from '../trino-rules/document/rules-document.js';
import { readRules } from '../trino-rules/document/rules-reader.js';
import { remark } from './output.js';

/** Reads a rules file strictly. Null: it cannot be read, and every problem has been printed. */
export async function readRulesFile(file: string): Promise<{ text: string; document: RulesDocument } | null> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    remark(error instanceof Error ? error.message : String(error));
    return null;
  }
  const reading = readRules(bytes);
  if (reading.kind === 'read') return { text: bytes.toString(), document: reading.document };
  for (const { line, column, message } of reading.findings) remark(`${file}:${line}:${column} ${message}`);
  return null;
}
