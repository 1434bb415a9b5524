const UNRELEASED = '## Unreleased\n';

/** What stands under the heading, up to the next of its level, without white space around it. Null: there is no such heading. */
export function sectionOf(text: string, heading: string): string | null {
  const lines = text.split('\n');
  const level = heading.replace(/[^#].*/, '');
  const begin = lines.findIndex((line) => line === heading || line.startsWith(`${heading} `));
  if (begin === -1) return null;
  const rest = lines.slice(begin + 1);
  const end = rest.findIndex((line) => /^#+ /.test(line) && line.indexOf(' ') <= level.length);
  return rest
    .slice(0, end === -1 ? rest.length : end)
    .join('\n')
    .trim();
}

/**
 * The changelog with what is unreleased under a version, below an empty section for what comes next.
 * @param date as 2026-11-25
 * @throws Error where nothing is unreleased, or the version is there
 */
export function cutChangelog(text: string, version: string, date: string): string {
  if (sectionOf(text, `## ${version}`) !== null) throw new Error(`CHANGELOG.md has a section ${version}`);
  if ((sectionOf(text, UNRELEASED.trim()) ?? '') === '') throw new Error('CHANGELOG.md has nothing under Unreleased');
  return text.replace(UNRELEASED, `${UNRELEASED}\n## ${version} - ${date}\n`);
}

/** Whether `next` follows `former`: greater, and a plain MAJOR.MINOR.PATCH. */
export function follows(next: string, former: string): boolean {
  if (!/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(next)) return false;
  const [a = [], b = []] = [next, former].map((version) => version.split('.').map(Number));
  const at = a.findIndex((part, index) => part !== b[index]);
  return at !== -1 && (a[at] ?? 0) > (b[at] ?? 0);
}
