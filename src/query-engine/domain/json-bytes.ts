const BLANK = 0x20;

/** Whether that text is at that place. */
export function isAt(word: Buffer, source: Buffer, place: number): boolean {
  for (let at = 0; at < word.length; at += 1) if (source[place + at] !== word[at]) return false;
  return true;
}

/** What JSON takes as a blank. */
export function isBlank(byte: number | undefined): boolean {
  return byte === BLANK || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
