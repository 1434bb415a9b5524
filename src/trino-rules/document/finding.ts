/** A result of a check. */
export interface Finding {
  /** Stable, in kebab-case: `proof-difference`, `dead-rule`, `invariant-section-missing`, `too-large`, … */
  code: string;
  severity: 'error' | 'warning' | 'info';
  /** One sentence that a person understands; for the proof it names the person, the node and the privilege. */
  message: string;
  /** Where in the rules: `tables[12]`. */
  rule?: string;
  /** The smallest piece of evidence: a rule's text, or a name that shows it. */
  witness?: string;
  /** 1-based, where the text of a file is what is judged. */
  line?: number;
  column?: number;
}

/** Whether it stops a publication. */
export function isError({ severity }: Finding): boolean {
  return severity === 'error';
}
