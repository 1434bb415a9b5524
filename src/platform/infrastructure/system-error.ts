/** The operating system's code (`ENOENT`); null for what did not come from it. */
export function codeOf(failure: unknown): string | null {
  return typeof failure === 'object' && failure !== null && 'code' in failure ? String(failure.code) : null;
}
