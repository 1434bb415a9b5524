import type { CheckCode } from './checks.js';

/** A finding in one text, at the UTF-16 offset of a value, a key, or a rule's brace. */
export interface PlacedFinding {
  code: CheckCode;
  message: string;
  at: number;
  /** `tables[12]` */
  rule?: string;
  witness?: string;
}

/** Takes a finding down. */
export type Report = (code: CheckCode, message: string, at: number) => void;
