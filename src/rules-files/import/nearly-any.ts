import { getOrInsert } from '../../kernel/collections.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { namesLeftOut } from '../../trino-rules/document/rule-language.js';

const LOOK_AHEAD = '(?!';
const MOST_NAMES = 100;
const MOST_NODES = 2_000;

/** Texts are few in a file, and are asked about for each of its users and nodes. */
const found = new WeakMap<object, ReadonlySet<string> | null>();

/** Whether a pattern matches every name. */
export function isAny(text: string | undefined): boolean {
  return text === undefined || text === '.*';
}

/** The few names that a pattern leaves out of all, as `(?!secret$).*` does; null: it is about some names alone. */
export function leftOut(text: string | undefined, patterns: PatternCache): ReadonlySet<string> | null {
  if (text === undefined || isAny(text)) return NONE;
  if (!text.includes(LOOK_AHEAD)) return null;
  const language = patterns.language(text);
  if (language.kind !== 'open') return null;
  const { pattern } = language;
  return getOrInsert(found, pattern, () => {
    const names = namesLeftOut(pattern, MOST_NAMES, MOST_NODES);
    return names && new Set(names);
  });
}

const NONE: ReadonlySet<string> = new Set();
