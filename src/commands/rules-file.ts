import type { RulesDocument } from '../trino-rules/document/rules-document.js';
import { readRules } from '../trino-rules/document/rules-reader.js';
import { bytesOf } from './given-file.js';
import { remarkPlaced } from './output.js';

/** Reads a rules file strictly. Null: it cannot be read, and every problem has been printed. */
export function readRulesFile(file: string): { text: string; document: RulesDocument } | null {
  const bytes = bytesOf(file);
  if (bytes === null) return null;
  const reading = readRules(bytes);
  if (reading.kind === 'read') return { text: bytes.toString(), document: reading.document };
  remarkPlaced(file, reading.findings);
  return null;
}
