import { FRESH_PREFIX, type OpenNames, type Spelling, spelledOut } from './open-names.js';
import type { Pattern, PatternPiece } from './pattern.js';

/** The tables that a pattern of companions is about: `a[$].*`, `(a|b)([$].*)?` or `.*[$].*`, in a table's pattern alone. */
export interface Companions {
  /** Null: companions of any table. */
  bases: ReadonlySet<string> | null;
  /** Whether it matches the tables themselves, too. */
  isWithBases: boolean;
}

/** Null: it is another kind of pattern, or names too many tables. */
export function companionsOf({ options }: Pattern, spelling: Spelling): Companions | null {
  const [pieces] = options;
  if (pieces === undefined || options.length !== 1) return null;
  const last = pieces.at(-1);
  const isWithBases = last?.kind === 'optional' && last.piece.kind === 'choice' && isSuffix(last.piece.options);
  const suffix = isWithBases ? 1 : isSuffix([pieces.slice(-2)]) ? 2 : null;
  if (suffix === null) return null;
  const base = pieces.slice(0, -suffix);
  if (base.length === 0) return null;
  if (base.every(({ kind }) => kind === 'rest')) return isWithBases ? null : { bases: null, isWithBases };
  const bases = spelledOut({ options: [base] }, spelling);
  return bases === null ? null : { bases, isWithBases };
}

/** One name for each kind of names that such a pattern tells from others: a companion with a fresh suffix, and the base. */
export function companionNames({ bases, isWithBases }: Companions): OpenNames {
  return {
    spelled: isWithBases ? [...(bases ?? [])] : [],
    witnesses: [...(bases ?? [FRESH_PREFIX])].map((base) => `${base}$${FRESH_PREFIX}`),
  };
}

/** Whether `.*` matches all of it: Java's dot stops at the end of a line. */
export function isLineOfText(name: string): boolean {
  return !/[\n\r\u0085\u2028\u2029]/.test(name);
}

/** `[$].*` */
function isSuffix(options: readonly (readonly PatternPiece[])[]): boolean {
  const [sequence] = options;
  const [dollar, rest] = sequence ?? [];
  return (
    options.length === 1 &&
    sequence?.length === 2 &&
    dollar?.kind === 'class' &&
    dollar.oneOf === '$' &&
    rest?.kind === 'rest'
  );
}
