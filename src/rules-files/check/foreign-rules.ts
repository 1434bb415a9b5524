import type { SectionName } from './engine-format.js';

/** A rule of anybody's file, as the engine would use it. */
export interface ForeignRule {
  section: SectionName;
  index: number;
  /** `tables[12]` */
  place: string;
  /** Offset of its opening brace. */
  at: number;
  /** By the field's own name; absent where the engine reads "any". */
  patterns: ReadonlyMap<string, ForeignPattern>;
  /** Its rights: the words of `privileges` or `allow`, a catalog's mode, `true` or `false`. */
  gives: readonly string[];
  /** A row filter; null: none. */
  filter: ForeignExpression | null;
  /** Columns that are hidden or masked, each once. */
  columns: readonly ForeignColumn[];
  /** The engine refuses it, so what it matches and gives is not known. */
  isRefused: boolean;
  /** Its text on one line, cut where it is long. */
  text: string;
}

export interface ForeignPattern {
  text: string;
  at: number;
}

export interface ForeignExpression {
  text: string;
  /** The identity that the engine evaluates it as; null: the user of the session. */
  runsAs: string | null;
}

export interface ForeignColumn {
  name: string;
  /** False: it is hidden. */
  allow: boolean;
  mask: ForeignExpression | null;
}

/** The sections of a file; one that is absent, or null, is not in it. */
export type ForeignRules = ReadonlyMap<SectionName, readonly ForeignRule[]>;
