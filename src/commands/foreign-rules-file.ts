import { isRefused } from '../rules-files/check/checks.js';
import type { ForeignRules } from '../rules-files/check/foreign-rules.js';
import { readLeniently } from '../rules-files/check/lenient-reader.js';
import { TextPositions } from '../trino-rules/document/finding.js';
import { BudgetExceeded, WorkBudget } from '../trino-rules/document/work-budget.js';
import { decodeFile } from './check/decode.js';
import { readSource } from './check/rules-source.js';
import { bytesOf } from './files.js';
import { placedLines, Unusable } from './output.js';

export interface Place {
  line: number;
  column: number;
}

export interface ReadRulesFile {
  kind: 'read';
  rules: ForeignRules;
  at: number;
  placeOf(offset: number): Place;
  text: string;
}

export type ForeignRulesFile = ReadRulesFile | { kind: 'refused'; problems: ({ message: string } & Place)[] };

/** Reads a rules file, or the single one in a file of manifests. Refuses what the engine would refuse. */
export async function readForeignRulesFile(bytes: Uint8Array): Promise<ForeignRulesFile> {
  const { text, findings } = decodeFile(bytes);
  const positions = new TextPositions(text);
  const source = await readSource(text);
  const [rules, second] = source.rules;
  const isManifest = (code: string): boolean => code === 'manifest-syntax' || code === 'manifest-without-rules';
  const refused = [...findings, ...source.findings].filter(({ code }) => isRefused(code) || isManifest(code));
  if (second !== undefined)
    refused.push({
      code: 'manifest-syntax',
      message: 'there is a second rules file: name one at a time',
      at: second.toFile(0),
    });
  if (rules === undefined || refused.length > 0) return { kind: 'refused', problems: refused.map(placed) };
  const reading = readLeniently(rules.text);
  const problems = reading.findings.filter(({ code }) => isRefused(code));
  if (reading.rules === null || problems.length > 0)
    return { kind: 'refused', problems: problems.map(({ message, at }) => placed({ message, at: rules.toFile(at) })) };
  const placeOf = (offset: number): Place => positions.of(rules.toFile(offset));
  return { kind: 'read', rules: reading.rules, at: reading.at, placeOf, text: rules.text };

  function placed({ message, at }: { message: string; at: number }): { message: string } & Place {
    return { message, ...positions.of(at) };
  }
}

/** Reads rules as `readForeignRulesFile` does, from a path. @throws Unusable with every problem */
export async function readForeignRules(path: string): Promise<ReadRulesFile> {
  const reading = await readForeignRulesFile(bytesOf(path));
  if (reading.kind === 'refused') throw new Unusable(placedLines(path, reading.problems));
  return reading;
}

/** Runs work that has a budget. @throws Unusable with `problem` if the work exceeds it */
export function withinBudget<T>(problem: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof BudgetExceeded ? new Unusable([problem]) : error;
  }
}

/** Steps that take about ten seconds; large files get more. */
const STEPS_AT_LEAST = 2_000_000_000;
const STEPS_PER_CHARACTER = 10_000;

/** The budget for an import of a file. */
export function importBudget({ text }: ReadRulesFile): WorkBudget {
  return new WorkBudget(STEPS_AT_LEAST + STEPS_PER_CHARACTER * text.length);
}
