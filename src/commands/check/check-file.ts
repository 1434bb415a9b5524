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
  // A byte order mark is reported only in a rules file. One before a manifest does not reach the engine.
  const isRulesFile = source.rules.some((rules) => rules.text === text);
  const placedFindings = [
    ...findings.filter(({ code }) => isRulesFile || code !== 'json-byte-order-mark'),
    ...source.findings,
    ...source.rules.flatMap((rules) =>
      checkText(rules.text, settings).map((finding) => ({ ...finding, at: rules.toFile(finding.at) })),
    ),
  ];
  const positions = new TextPositions(text);
  const orderedFindings = placedFindings.sort((a, b) => a.at - b.at);
  return {
    name,
    text,
    findings: orderedFindings.map((finding) => fileFinding(name, finding, positions.positionOf(finding.at))),
  };
}

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
