/** Names as SQL writes them, with dots between; those that hold a dot or a quote in double quotes. */
export function sqlPath(names: readonly string[]): string {
  return names.map((name) => (/[."]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name)).join('.');
}
