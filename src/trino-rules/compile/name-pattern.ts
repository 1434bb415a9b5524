/**
 * A short pattern that matches exactly these names, in the common subset of Java's and JavaScript's regular expressions: literals, classes
 * of letters and digits, `(a|b)` and `?`. Equal sets of names give equal patterns.
 */
export function patternOfNames(names: Iterable<string>): string {
  const distinctNames = [...new Set(names)].sort();
  if (distinctNames.length === 0) throw new Error('an empty pattern would mean everybody to the engine');
  if (distinctNames.includes('')) throw new Error('no name is empty');
  const { options } = tailsOf(distinctNames, 0, distinctNames.length, 0);
  return options.join('|');
}

/** Escapes a name: `a.b` becomes `a[.]b`. Where possible, classes are used instead of backslashes, which the engine drops in `new_user`. */
export function literalPattern(name: string): string {
  return name.replace(/[.$|?*+(){}]|[\\^[\]]/g, (character) =>
    '\\^[]'.includes(character) ? `\\${character}` : `[${character}]`,
  );
}

/** The average length that a name adds to a pattern of these names, estimated from a sample. */
export function typicalLength(names: readonly string[]): number {
  const step = Math.max(1, Math.floor(names.length / 256));
  const sample = [...names].sort().filter((_, i) => i % step === 0);
  return sample.length === 0 ? 0 : patternOfNames(sample).length / sample.length;
}

/** The endings of names with a common beginning, as alternatives of a pattern. `mayEnd`: the beginning is itself one of the names. */
interface NameTails {
  options: string[];
  mayEnd: boolean;
}

/** Names that consist of a first character (one of `heads`), then `middle`, then one of the tails. */
interface Branch {
  heads: string[];
  middle: string;
  tails: NameTails;
}

/** The endings after `offset` of the names from `firstIndex` to `endIndex - 1`. The names are sorted, and equal before `offset`. */
function tailsOf(names: readonly string[], firstIndex: number, endIndex: number, offset: number): NameTails {
  const mayEnd = names[firstIndex]?.length === offset;
  const branches = new Map<string, Branch>();
  for (let start = mayEnd ? firstIndex + 1 : firstIndex; start < endIndex;) {
    const firstName = names[start] ?? '';
    const code = firstName.codePointAt(offset) ?? 0;
    const head = String.fromCodePoint(code);
    let end = start + 1;
    while (end < endIndex && names[end]?.codePointAt(offset) === code) end++;
    const commonPrefixEnd = commonPrefixEndOf(firstName, names[end - 1] ?? '', offset + head.length);
    const middle = firstName.slice(offset + head.length, commonPrefixEnd);
    const branch = { heads: [head], middle, tails: tailsOf(names, start, end, commonPrefixEnd) };
    // First characters that can be followed by the same texts are written as one class, such as `[a-e]`.
    const key = CLASS_CHARACTER.test(head) ? [middle, branch.tails.mayEnd, ...branch.tails.options].join('\n') : head;
    const similarBranch = branches.get(key);
    if (similarBranch) similarBranch.heads.push(head);
    else branches.set(key, branch);
    start = end;
  }
  return { options: [...branches.values()].flatMap(optionsOf), mayEnd };
}

const CLASS_CHARACTER = /^[A-Za-z0-9]$/;

/** End of the common prefix of two names, at a character boundary. */
function commonPrefixEndOf(a: string, b: string, startOffset: number): number {
  let offset = startOffset;
  while (offset < a.length && a.codePointAt(offset) === b.codePointAt(offset))
    offset += (a.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1;
  return offset;
}

/** The pattern of names with a common beginning: one option such as `a(b|c)`, or several options if these are shorter. */
function optionsOf({ heads, middle, tails: { options, mayEnd } }: Branch): string[] {
  const beginning = characterClass(heads) + literalPattern(middle);
  if (options.length === 0) return [beginning];
  const listedOptions = [...(mayEnd ? [''] : []), ...options].map((option) => beginning + option);
  const factoredOption = beginning + (mayEnd ? optionalGroup(options) : groupedOptions(options));
  return factoredOption.length <= listedOptions.join('|').length ? [factoredOption] : listedOptions;
}

function groupedOptions(options: readonly string[]): string {
  return options.length === 1 ? options.join('') : `(${options.join('|')})`;
}

function optionalGroup(options: readonly string[]): string {
  const [onlyOption = ''] = options;
  return options.length === 1 && SINGLE_CHARACTER.test(onlyOption) ? `${onlyOption}?` : `(${options.join('|')})?`;
}

/** Matches a pattern of one character, which needs no parentheses before a question mark. */
const SINGLE_CHARACTER = /^(?:[A-Za-z0-9_-]|\[[^\]]+\])$/;

function characterClass(characters: readonly string[]): string {
  const [onlyCharacter = ''] = characters;
  if (characters.length === 1) return literalPattern(onlyCharacter);
  const ranges: string[] = [];
  for (const character of characters) {
    const lastRun = ranges.at(-1);
    const isSuccessor = lastRun?.charCodeAt(lastRun.length - 1) === character.charCodeAt(0) - 1;
    const isSameKind = [/^[a-z]/, /^[A-Z]/, /^[0-9]/].some((kind) => kind.test(lastRun ?? '') && kind.test(character));
    if (lastRun !== undefined && isSuccessor && isSameKind) ranges[ranges.length - 1] = lastRun + character;
    else ranges.push(character);
  }
  const runTexts = ranges.map((run) => (run.length > 3 ? `${run.charAt(0)}-${run.charAt(run.length - 1)}` : run));
  return `[${runTexts.join('')}]`;
}
