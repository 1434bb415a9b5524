import { type CheckCode, isRefused, severityOf } from '../rules-files/check/checks.js';
import type { ForeignRules } from '../rules-files/check/foreign-rules.js';
import { readLeniently } from '../rules-files/check/lenient-reader.js';
import { TextPositions } from '../trino-rules/document/finding.js';
import { BudgetExceeded, WorkBudget } from '../trino-rules/document/work-budget.js';
import { decodeFile } from './check/decode.js';
import { readSource } from './check/rules-source.js';
import { readBytes } from './files.js';
import { placedLines, UnusableInput } from './output.js';

export interface Place {
  line: number;
  column: number;
}

export interface ParsedRulesFile {
  kind: 'read';
  rules: ForeignRules;
  at: number;
  placeOf(offset: number): Place;
  /** The place as text: `rules.json:12:3`. */
  placeText(path: string, offset: number): string;
  text: string;
}

export type ForeignRulesFile = ParsedRulesFile | { kind: 'refused'; problems: ({ message: string } & Place)[] };

/** Reads a rules file, or a file of manifests with a single rules file. Refuses a file that the engine would refuse. */
export async function readForeignRulesFile(bytes: Uint8Array): Promise<ForeignRulesFile> {
  const { text, findings } = decodeFile(bytes);
  const positions = new TextPositions(text);
  const source = await readSource(text);
  const [rules, secondRules] = source.rules;
  const isFault = (code: CheckCode): boolean =>
    isRefused(code) || (rules === undefined ? severityOf(code) === 'error' : code === 'manifest-syntax');
  const refusals = [...findings, ...source.findings].filter(({ code }) => isFault(code));
  if (secondRules !== undefined)
    refusals.push({
      code: 'manifest-syntax',
      message: 'there is a second rules file: name one at a time',
      at: secondRules.toFile(0),
    });
  if (rules === undefined || refusals.length > 0) return { kind: 'refused', problems: refusals.map(withPlace) };
  const reading = readLeniently(rules.text);
  const problems = reading.findings.filter(({ code }) => isRefused(code));
  if (reading.rules === null || problems.length > 0)
    return {
      kind: 'refused',
      problems: problems.map(({ message, at }) => withPlace({ message, at: rules.toFile(at) })),
    };
  const placeOf = (offset: number): Place => positions.positionOf(rules.toFile(offset));
  const placeText = (path: string, offset: number): string => {
    const { line, column } = placeOf(offset);
    return `${path}:${line}:${column}`;
  };
  return { kind: 'read', rules: reading.rules, at: reading.at, placeOf, placeText, text: rules.text };

  function withPlace({ message, at }: { message: string; at: number }): { message: string } & Place {
    return { message, ...positions.positionOf(at) };
  }
}

/** Reads rules as `readForeignRulesFile` does, from a path. @throws UnusableInput with every problem */
export async function readForeignRules(path: string): Promise<ParsedRulesFile> {
  const reading = await readForeignRulesFile(readBytes(path));
  if (reading.kind === 'refused') throw new UnusableInput(placedLines(path, reading.problems));
  return reading;
}

/** Runs work that has a budget. @throws UnusableInput with `problem` if the work exceeds its budget */
export function withinBudget<T>(problem: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof BudgetExceeded ? new UnusableInput([problem]) : error;
  }
}

/** The least budget of an import in steps, about ten seconds. A large file gets more. */
const MIN_STEPS = 2_000_000_000;
const COST_PER_CHARACTER = 10_000;

export function importBudget({ text }: ParsedRulesFile): WorkBudget {
  return new WorkBudget(MIN_STEPS + COST_PER_CHARACTER * text.length);
}
