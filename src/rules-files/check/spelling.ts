/** The known word that differs in case, separators, or an ending `s` alone. */
export function spelledLike(word: string, known: readonly string[]): string | undefined {
  const bare = (text: string): string =>
    text
      .toLowerCase()
      .replace(/[^a-z]/g, '')
      .replace(/s$/, '');
  return known.find((each) => bare(each) === bare(word));
}
