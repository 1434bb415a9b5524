/** The first of some names, and how many there are besides: `ana, ben and 398 more`. */
export function firstNames(names: readonly (string | number)[], most: number): string {
  const more = names.length - most;
  return names.slice(0, most).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
