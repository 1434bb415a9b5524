import { isSurrogate } from './character-sets.js';

class PlacedError extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}
/** Java refuses the pattern. */
export class Refused extends PlacedError {}
/** A construct that is not read here. */
export class NotJudged extends PlacedError {}

/** One character of the pattern; `escape` is one behind a backslash, `quoted` a sign in a quotation, which has no meaning there. */
export interface Token {
  kind: 'sign' | 'quoted' | 'escape' | 'end';
  character: string;
  at: number;
}

/** @throws NotJudged for half of a surrogate pair */
export function tokensOf(text: string): Token[] {
  const characters = Array.from(text);
  const tokens: Token[] = [];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? '';
    if (isSurrogate(character.codePointAt(0) ?? 0)) throw new NotJudged('half of a surrogate pair', at);
    if (character !== '\\') tokens.push({ kind: 'sign', character, at });
    else if (characters[at + 1] !== 'Q') tokens.push({ kind: 'escape', character: characters[++at] ?? '', at: at - 1 });
    else {
      const start = at + 2;
      for (at = start; at < characters.length && !(characters[at] === '\\' && characters[at + 1] === 'E'); at++) {
        const quoted = characters[at] ?? '';
        // As Java: a letter stays what it is, so that `(?\Qi\E)` is a flag.
        const isPlain = quoted > '\x7f' || /[a-zA-Z]/.test(quoted) || (at > start && /[0-9]/.test(quoted));
        tokens.push({ kind: isPlain ? 'sign' : 'quoted', character: quoted, at });
      }
      at++;
    }
  }
  tokens.push({ kind: 'end', character: '', at: characters.length });
  return tokens;
}
