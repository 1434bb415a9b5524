/** Access that grants cannot express, and the choice made instead. */
export interface ImportFinding {
  code: ImportCode;
  people: string[];
  /** The access that the rules give, or that comes with what is granted: `SELECT from sales.eu.orders`. */
  what: string[];
  why: string;
  instead: string;
  /** `tables[12]`; null: an absent section gives it, or no rule does. */
  rule: string | null;
  /** Offset in the text of the rules. */
  at: number;
}

export type ImportCode = keyof typeof CHOSEN;

/** By code, what is chosen instead. */
const CHOSEN = {
  'import-lost': 'not granted',
  'import-pattern-resolved': 'granted on the names of the listing alone',
  'import-basic-access': 'given',
  'import-right': 'given to nobody',
  'import-pattern-not-judged': 'nothing that the rule may match is granted',
  'import-no-queries': 'not granted',
  'import-no-principal': 'nothing is granted',
  'import-principals': 'users are whom their tokens name',
  'import-no-groups': 'the rules for groups match nobody',
} as const;

/** A finding at a rule, or at the document. */
export function importFinding(
  code: ImportCode,
  people: readonly string[],
  what: readonly string[],
  why: string,
  { rule, at }: Pick<ImportFinding, 'rule' | 'at'>,
): ImportFinding {
  return { code, people: [...people], what: [...what], why, instead: CHOSEN[code], rule, at };
}
