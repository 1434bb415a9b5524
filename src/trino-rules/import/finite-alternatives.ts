import { languageOf } from '../check/foreign-language.js';

/**
 * A pattern in two: the alternatives that are lists of names, and the others, so that the names count as named. Together they match what
 * the pattern matches; one alone where it is all of one kind, or written in a way that is not taken apart.
 */
export function finiteAlternatives(text: string): string[] {
  const parts = alternatives(text);
  const finite = parts.filter(isListOfNames);
  if (finite.length === 0 || finite.length === parts.length) return [text];
  return [finite, parts.filter((part) => !isListOfNames(part))].map((some) => some.join('|'));
}

function isListOfNames(part: string): boolean {
  const language = languageOf(part);
  return language.kind === 'regular' && language.pattern.isFinite;
}

/** The whole text where quotations, groups with flags or look-arounds, or classes in classes leave open where an alternative ends. */
function alternatives(text: string): string[] {
  if (/\\[Qk0-9]|\(\?|\[[^\]]*\[|\[\^?\]/.test(text)) return [text];
  const tokens = text.match(/\\[^]|\[(?:\\[^]|[^\]\\])*\]|[^]/g) ?? [];
  const parts = [''];
  let depth = 0;
  let isGroup = tokens[0] === '(';
  for (const [i, token] of tokens.entries()) {
    if (token === '(') depth++;
    if (token === ')') depth--;
    if (depth === 0 && i < tokens.length - 1) isGroup = false;
    if (token === '|' && depth === 0) parts.push('');
    else parts.push(`${parts.pop() ?? ''}${token}`);
  }
  // A group around everything is none.
  if (isGroup && depth === 0 && tokens.length > 2) return alternatives(text.slice(1, -1));
  return parts.includes('') ? [text] : parts;
}
