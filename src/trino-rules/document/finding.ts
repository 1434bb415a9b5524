/** Severities, the highest first. */
export const SEVERITIES = ['error', 'warning', 'info'] as const;

export type Severity = (typeof SEVERITIES)[number];

export interface Finding {
  /** A stable identifier in kebab-case: `proof-difference`, `dead-rule`, `invariant-section-missing`, `too-large`, … */
  code: string;
  severity: Severity;
  /** One sentence. Findings of the proof name the user, the node and the privilege. */
  message: string;
  rule?: string;
  /** Evidence: the text of a rule, or a name. */
  witness?: string;
  /** Line and column in the text of a file, 1-based. */
  line?: number;
  column?: number;
}

/** Whether a finding stops a publication. */
export function isError({ severity }: Finding): boolean {
  return severity === 'error';
}

/** Converts offsets in one text to lines and columns (1-based, in UTF-16 units). */
export class TextPositions {
  private readonly lineStarts: number[] = [0];

  constructor(text: string) {
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) this.lineStarts.push(end + 1);
  }

  positionOf(offset: number): { line: number; column: number } {
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
