import { codePoints } from '../../trino-rules/document/characters.js';
import { readJavaPattern } from '../java/java-pattern.js';
import type { Pattern } from '../../trino-rules/document/pattern.js';
import { mayMatchOver } from '../../trino-rules/document/rule-language.js';
import type { FieldFormat } from './engine-format.js';
import type { Report } from './placed-finding.js';

/** Most patterns: they need no check. */
const PLAIN_NAMES = /^[a-z0-9_-]+(?:\|[a-z0-9_-]+)*$/;

/** Problems of one pattern, and traps: the engine matches it with whole names, by java.util.regex. */
export function checkPattern(key: string, field: FieldFormat, text: string, at: number, report: Report): void {
  if (PLAIN_NAMES.test(text)) return;
  const reading = readJavaPattern(text);
  if (reading.kind === 'refused') {
    const place = text.length > 1 ? ` (character ${reading.at + 1})` : '';
    report(
      'rules-pattern-invalid',
      `"${key}" is no regular expression of Java: ${reading.reason}${place}${hint(text)}`,
      at,
    );
    return;
  }
  checkTraps(key, text, at, report);
  if (reading.kind === 'not-judged') {
    const place = `character ${reading.at + 1}`;
    report('pattern-not-judged', `"${key}" has ${reading.construct} (${place}), which this check does not read`, at);
    return;
  }
  for (const kind of ['read-differently', 'refused-by-javascript'] as const) {
    const constructs = reading.differences.filter((each) => each.kind === kind).map(({ construct }) => construct);
    if (constructs.length === 0) continue;
    const list = constructs.join(' and ');
    if (kind === 'read-differently')
      report('pattern-read-differently', `"${key}" has ${list}, which Java reads unlike other tools`, at);
    else report('pattern-java-only', `"${key}" has ${list}, which only Java's regular expressions know`, at);
  }
  const isName = field.reads === 'pattern' && field.matches === 'lower-case name';
  if (isName && reading.pattern !== null && !matchesLowerCase(text, reading.pattern))
    report('pattern-case', `the engine's names are lower-case: no name matches "${key}"`, at);
}

function checkTraps(key: string, text: string, at: number, report: Report): void {
  if (text !== text.trim())
    report('pattern-blank', `"${key}" begins or ends with white space, which is part of the name`, at);
  const glob = /(?<![\\\])}.*+?])([a-zA-Z0-9_-])\*/.exec(text);
  if (glob) {
    const [found, letter] = glob;
    report('pattern-glob', `"${key}" has ${found}, which means any number of ${String(letter)}; any text is .*`, at);
  }
  if (hasBareAlternative(text)) {
    const message = `the alternatives of "${key}" reach from end to end: .* belongs to one of them alone; write (a|b).* to mean all`;
    report('pattern-alternation', message, at);
  }
  const dot = /[a-zA-Z0-9_]\.(?=[a-zA-Z0-9_])/.test(text.replace(/\\./g, '  '));
  if (dot && !text.includes('\\Q'))
    report('pattern-bare-dot', `the dot of "${key}" matches any character; a dot itself is [.]`, at);
}

/** Plain names, then one with `.*` at the end of the pattern; or the other way round. */
function hasBareAlternative(text: string): boolean {
  const parts = text.split('|');
  const isPlain = (part: string): boolean => /^[a-zA-Z0-9_-]+$/.test(part);
  const [first = '', last = ''] = [parts[0], parts.at(-1)];
  if (parts.length < 2) return false;
  return (
    (/^[a-zA-Z0-9_-]+\.[*+]$/.test(last) && parts.slice(0, -1).every(isPlain)) ||
    (/^\.[*+][a-zA-Z0-9_-]+$/.test(first) && parts.slice(1).every(isPlain))
  );
}

/** The likely intention behind a text that is no pattern. */
function hint(text: string): string {
  if (text.includes('{user}')) return '; {user} is newer than Trino 483 (--trino 484)';
  if (text.startsWith('*')) return '; any text is .*';
  return '';
}

const LOWER_CASE = codePoints([0x41, 0x5a]).negate();
const MAX_NODES = 2_000;

/** False only where it is certain. */
function matchesLowerCase(text: string, pattern: Pattern): boolean {
  return !/[A-Z]/.test(text) || mayMatchOver(pattern, LOWER_CASE, MAX_NODES);
}
