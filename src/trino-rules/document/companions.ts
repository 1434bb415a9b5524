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
  const optional = last?.kind === 'optional' && last.piece.kind === 'choice' ? last.piece.options : null;
  const isWithBases = optional !== null;
  const base = isWithBases ? (isSuffix(optional) ? pieces.slice(0, -1) : null) : withoutSuffix(pieces);
  if (base === null || base.length === 0) return null;
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
function isSuffix([sequence, ...others]: readonly (readonly PatternPiece[])[]): boolean {
  return others.length === 0 && sequence !== undefined && withoutSuffix(sequence)?.length === 0;
}

/** The pieces before `[$].*`, or before an escaped sign and `.*`; null: they do not end so. */
function withoutSuffix(pieces: readonly PatternPiece[]): PatternPiece[] | null {
  const [sign, rest] = pieces.slice(-2);
  if (sign === undefined || rest?.kind !== 'rest') return null;
  const before = pieces.slice(0, -2);
  if (sign.kind === 'class') return sign.oneOf === '$' ? before : null;
  if (sign.kind === 'set') return sign.characters.size === 1 && sign.characters.has(DOLLAR) ? before : null;
  if (sign.kind !== 'literal' || !sign.text.endsWith('$')) return null;
  const text = sign.text.slice(0, -1);
  return text === '' ? before : [...before, { kind: 'literal', text }];
}

const DOLLAR = 0x24;
