import { checkText } from '../../rules-files/check/check-text.js';
import { type CheckCode, type PlacedFinding, severityOf } from '../../rules-files/check/checks.js';
import type { ServiceSettings } from '../../rules-files/check/file-invariants.js';
import { TextPositions } from '../../trino-rules/document/finding.js';
import { decodeFile } from './decode.js';
import { readSource } from './rules-source.js';

/** One finding of `acl check`, as in its JSON. */
export interface FileFinding {
  file: string;
  line: number;
  /** Column in UTF-16 units, counted from 1. */
  column: number;
  code: CheckCode;
  severity: 'error' | 'warning' | 'info';
  message: string;
  rule: string | null;
  witness: string | null;
}

export interface CheckedFile {
  name: string;
  text: string;
  findings: FileFinding[];
}

/** Checks a rules file, or the rules in a file of manifests. */
export async function checkFile(name: string, bytes: Uint8Array, settings: ServiceSettings): Promise<CheckedFile> {
  const { text, findings } = decodeFile(bytes);
  const source = await readSource(text);
  // A byte order mark counts only in a rules file: before a manifest it never reaches the engine.
  const isItself = source.rules.some((rules) => rules.text === text);
  const placed = [
    ...findings.filter(({ code }) => isItself || code !== 'json-byte-order-mark'),
    ...source.findings,
    ...source.rules.flatMap((rules) =>
      checkText(rules.text, settings).map((finding) => ({ ...finding, at: rules.toFile(finding.at) })),
    ),
  ];
  const positions = new TextPositions(text);
  const inOrder = placed.sort((a, b) => a.at - b.at);
  return { name, text, findings: inOrder.map((finding) => fileFinding(name, finding, positions.of(finding.at))) };
}

/** A file that could not be read at all. */
export function unreadableFile(name: string, reason: string): CheckedFile {
  const finding: PlacedFinding = { code: 'file-unreadable', message: `cannot be read: ${reason}`, at: 0 };
  return { name, text: '', findings: [fileFinding(name, finding, { line: 1, column: 1 })] };
}

function fileFinding(
  file: string,
  { code, message, rule, witness }: PlacedFinding,
  { line, column }: { line: number; column: number },
): FileFinding {
  const severity = severityOf(code);
  return { file, line, column, code, severity, message, rule: rule ?? null, witness: witness ?? null };
}
