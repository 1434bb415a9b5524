/** The most severe first. */
export const SEVERITIES = ['error', 'warning', 'info'] as const;

export type Severity = (typeof SEVERITIES)[number];

/** A result of a check. */
export interface Finding {
  /** Stable, in kebab-case: `proof-difference`, `dead-rule`, `invariant-section-missing`, `too-large`, … */
  code: string;
  severity: Severity;
  /** One sentence. Findings of the proof name the user, the node and the privilege. */
  message: string;
  /** The rule that it is about: `tables[12]`. */
  rule?: string;
  /** Evidence: the text of a rule, or a name. */
  witness?: string;
  /** 1-based, for texts of files. */
  line?: number;
  column?: number;
}

/** Whether a finding stops a publication. */
export function isError({ severity }: Finding): boolean {
  return severity === 'error';
}

/** Lines and columns (1-based, in UTF-16 units) of offsets in one text. */
export class TextPositions {
  private readonly lineStarts: number[] = [0];

  constructor(text: string) {
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) this.lineStarts.push(at + 1);
  }

  of(offset: number): { line: number; column: number } {
    let low = 0;
    let high = this.lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.lineStarts[low] ?? 0) + 1 };
  }
}
