import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a finding of a case is expected to be, as `line:column code`. */
export interface CorpusCase {
  /** `file: title` */
  name: string;
  text: string;
  expected: string[];
}

export const CORPUS = join(import.meta.dirname, 'corpus');

/** Absent sections are found in most small files; only cases whose title ends with this list them. */
const WITH_ABSENT = '(absent sections)';
/** So are rules that leave doors open. */
const WITH_DOORS = '(doors)';
/** So are people who may not read system.jdbc. */
const WITH_LISTINGS = '(listings)';
const ABSENT = ['rules-section-missing', 'rules-section-default', 'rules-of-one-catalog'];

/**
 * The files of the corpus. A case begins with `=== title`. A line that begins with `~` or `^` is no part of its text: each caret
 * stands below the place of findings in the line before, and their codes, separated by commas, follow it.
 */
export function corpusCases(): CorpusCase[] {
  return readdirSync(CORPUS).flatMap((file) =>
    readFileSync(join(CORPUS, file), 'utf8')
      .split(/^=== /m)
      .slice(1)
      .map((written) => caseOf(file, written)),
  );
}

function caseOf(file: string, written: string): CorpusCase {
  const [title = '', ...lines] = written.replace(/\n$/, '').split('\n');
  const text: string[] = [];
  const expected: string[] = [];
  for (const line of lines) {
    if (!/^[~^]/.test(line)) text.push(line);
    else {
      const column = line.indexOf('^') + 1;
      for (const code of line.slice(column).split(',')) expected.push(`${text.length}:${column} ${code.trim()}`);
    }
  }
  return { name: `${file.replace(/\.txt$/, '')}: ${title}`, text: text.join('\n'), expected };
}

/** The findings that a case lists. */
export function listed<F extends { code: string }>({ name }: CorpusCase, findings: readonly F[]): F[] {
  return findings.filter(({ code }) => {
    if (code === 'rules-listings-closed') return name.endsWith(WITH_LISTINGS);
    return code.startsWith('door') ? name.endsWith(WITH_DOORS) : name.endsWith(WITH_ABSENT) || !ABSENT.includes(code);
  });
}
