/**
 * A short pattern for exactly these names, in the common subset of Java's and JavaScript's regular expressions: literals, classes of
 * letters and digits, `(a|b)` and `?`. It matches whole strings. Equal sets of names give equal patterns.
 */
export function anyOf(names: Iterable<string>): string {
  const distinct = [...new Set(names)].sort();
  if (distinct.length === 0) throw new Error('an empty pattern would mean everybody to the engine');
  if (distinct.includes('')) throw new Error('no name is empty');
  const { options } = tails(distinct, 0, distinct.length, 0);
  return options.join('|');
}

/** `a.b` → `a[.]b`. Classes instead of backslashes, which the engine drops in `new_user`. */
export function literal(name: string): string {
  return name.replace(/[.$|?*+(){}]|[\\^[\]]/g, (special) =>
    '\\^[]'.includes(special) ? `\\${special}` : `[${special}]`,
  );
}

/** Estimate of the bytes that one of these names takes in a pattern. */
export function typicalLength(names: readonly string[]): number {
  const step = Math.max(1, Math.floor(names.length / 256));
  const some = [...names].sort().filter((_, i) => i % step === 0);
  return some.length === 0 ? 0 : anyOf(some).length / some.length;
}

interface Tails {
  options: string[];
  orNothing: boolean;
}

interface Branch {
  heads: string[];
  rest: string;
  tails: Tails;
}

/** The tails, from position `at`, of `names[from]` to `names[to - 1]`, which are sorted and equal before `at`. */
function tails(names: readonly string[], from: number, to: number, at: number): Tails {
  const orNothing = names[from]?.length === at;
  const branches = new Map<string, Branch>();
  for (let start = orNothing ? from + 1 : from; start < to;) {
    const first = names[start] ?? '';
    const code = first.codePointAt(at) ?? 0;
    const head = String.fromCodePoint(code);
    let end = start + 1;
    while (end < to && names[end]?.codePointAt(at) === code) end++;
    const shared = commonEnd(first, names[end - 1] ?? '', at + head.length);
    const rest = first.slice(at + head.length, shared);
    const branch = { heads: [head], rest, tails: tails(names, start, end, shared) };
    // Characters with the same continuation share a class.
    const key = CLASSED.test(head) ? [rest, branch.tails.orNothing, ...branch.tails.options].join('\n') : head;
    const alike = branches.get(key);
    if (alike) alike.heads.push(head);
    else branches.set(key, branch);
    start = end;
  }
  return { options: [...branches.values()].flatMap(options), orNothing };
}

const CLASSED = /^[A-Za-z0-9]$/;

/** End of the common prefix of two names, at a character boundary. */
function commonEnd(a: string, b: string, from: number): number {
  let at = from;
  while (at < a.length && a.codePointAt(at) === b.codePointAt(at)) at += (a.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return at;
}

/** A branch as alternatives: factored, unless repeating the beginning is shorter. */
function options({ heads, rest, tails: { options, orNothing } }: Branch): string[] {
  const beginning = oneOf(heads) + literal(rest);
  if (options.length === 0) return [beginning];
  const listed = [...(orNothing ? [''] : []), ...options].map((option) => beginning + option);
  const factored = beginning + (orNothing ? optional(options) : grouped(options));
  return factored.length <= listed.join('|').length ? [factored] : listed;
}

function grouped(options: readonly string[]): string {
  return options.length === 1 ? options.join('') : `(${options.join('|')})`;
}

function optional(options: readonly string[]): string {
  const [only = ''] = options;
  return options.length === 1 && ATOM.test(only) ? `${only}?` : `(${options.join('|')})?`;
}

/** Matches what a question mark can follow without a group. */
const ATOM = /^(?:[A-Za-z0-9_-]|\[[^\]]+\])$/;

/** `[a-e7]` */
function oneOf(characters: readonly string[]): string {
  const [only = ''] = characters;
  if (characters.length === 1) return literal(only);
  const runs: string[] = [];
  for (const character of characters) {
    const last = runs.at(-1);
    const follows = last?.charCodeAt(last.length - 1) === character.charCodeAt(0) - 1;
    const isOfOneKind = [/^[a-z]/, /^[A-Z]/, /^[0-9]/].some((kind) => kind.test(last ?? '') && kind.test(character));
    if (last !== undefined && follows && isOfOneKind) runs[runs.length - 1] = last + character;
    else runs.push(character);
  }
  const text = runs.map((run) => (run.length > 3 ? `${run.charAt(0)}-${run.charAt(run.length - 1)}` : run));
  return `[${text.join('')}]`;
}
