import { readFile, writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import { snapshotSettings } from '../grants/snapshot.service.js';
import { SystemClock } from '../kernel/clock.js';
import { readJson } from '../kernel/json-reader.js';
import { loadSettings } from '../platform/settings-loader.js';
import type { AccessDifference } from '../trino-rules/diff/access-diff.js';
import { accessDiffForm } from '../trino-rules/diff/access-diff-form.js';
import { TextPositions } from '../trino-rules/document/finding.js';
import type { RulesDocument } from '../trino-rules/document/rules-document.js';
import { readRules } from '../trino-rules/document/rules-reader.js';
import { decidingRule, nameOfRule, type RuleAt } from '../trino-rules/engine/deciding-rule.js';
import { Evaluator } from '../trino-rules/engine/evaluator.js';
import { provenImport } from '../trino-rules/import/proven-import.js';
import { exportSnapshot } from '../trino-rules/model/snapshot-export.js';
import { readSnapshot } from '../trino-rules/model/snapshot-file.js';
import { print, remark } from './output.js';

interface Options {
  users: string;
  out?: string;
  json?: true;
}

/** What grants cannot say, and the rule that says it. */
interface ImportFinding {
  code: 'import-lost' | 'import-basic-access';
  what: string;
  people: string[];
  /** `tables[12]`; null: no rule gives it. */
  rule: string | null;
  line: number | null;
  column: number | null;
}

/**
 * An existing rules file as a snapshot that means the same for the users of a list, proved by comparison. Exit code 0: it does; 1:
 * something cannot be said in grants, and is listed; 2: a file cannot be read.
 */
export async function importRulesFile(path: string, { users, out, json }: Options): Promise<void> {
  const settings = await loadSettings('acl import');
  const defaults = { settings: snapshotSettings(settings), at: new SystemClock().now() };
  const [bytes, list] = [await readFile(path), await readFile(users, 'utf8')];
  const names = [...new Set(list.split(/\r?\n/).filter((name) => name !== ''))];
  const accounts = readSnapshot({ version: 1, users: names.map((name) => ({ name })) }, defaults);
  const rules = readRules(bytes);
  if (accounts.kind === 'refused') {
    for (const { path: place, message } of accounts.problems) remark(`${users}: ${userAt(place, names)} ${message}`);
  }
  if (rules.kind === 'refused') {
    for (const { line, column, message } of rules.findings) remark(`${path}:${line}:${column} ${message}`);
  }
  if (accounts.kind === 'refused' || rules.kind === 'refused') {
    process.exitCode = 2;
    return;
  }
  const { document } = rules;
  const { snapshot, differences, basicAccess } = provenImport(document, names, defaults);
  if (differences.gained.length > 0) {
    const [first] = accessDiffForm(differences).gained;
    throw new Error(`the import would give more than the rules: ${first?.what ?? ''}; nothing is written`);
  }
  const place = placesIn(bytes.toString(), document);
  const findings = [
    ...findingsOf('import-lost', differences.lost, place),
    ...findingsOf('import-basic-access', basicAccess, place),
  ];
  const file = exportSnapshot(snapshot);
  const isYaml = out !== undefined && /[.]ya?ml$/.test(out);
  const text = isYaml
    ? stringify(file, { aliasDuplicateObjects: false, lineWidth: 0 })
    : `${JSON.stringify(file, null, 2)}\n`;
  if (out !== undefined) await writeFile(out, text);
  if (json) print(JSON.stringify({ snapshot: file, findings }));
  else if (out === undefined) print(text.trimEnd());
  if (!json) for (const finding of findings) remark(findingLine(path, finding));
  process.exitCode = findings.length === 0 ? 0 : 1;
}

function findingsOf(
  code: ImportFinding['code'],
  differences: readonly AccessDifference[],
  place: (fact: AccessDifference) => Pick<ImportFinding, 'rule' | 'line' | 'column'>,
): ImportFinding[] {
  const forms = accessDiffForm({ gained: [...differences], lost: [] }).gained;
  return differences.map((each, i) => ({ code, what: forms[i]?.what ?? '', people: each.people, ...place(each) }));
}

/** Finds the rule that decides a difference, and its brace in the text. */
function placesIn(text: string, document: RulesDocument) {
  const { root } = readJson(text);
  const sections = new Map(root?.kind === 'object' ? root.members.map(({ key, value }) => [key, value]) : []);
  const positions = new TextPositions(text);
  const evaluator = new Evaluator(document);
  const at = ({ section, index }: RuleAt): number | undefined => {
    const list = sections.get(section);
    return list?.kind === 'array' ? list.items[index]?.at : undefined;
  };
  return ({ fact, people }: AccessDifference): Pick<ImportFinding, 'rule' | 'line' | 'column'> => {
    const rule = decidingRule(evaluator, fact, people[0] ?? '');
    const offset = rule === null ? undefined : at(rule);
    const { line, column } = offset === undefined ? { line: null, column: null } : positions.of(offset);
    return { rule: rule && nameOfRule(rule), line, column };
  };
}

function findingLine(path: string, { code, what, people, rule, line, column }: ImportFinding): string {
  const where = line === null ? path : `${path}:${line}:${column}`;
  const why =
    code === 'import-lost'
      ? 'cannot be said in grants and is left out'
      : 'comes with any access of Grantline, and these rules do not give it';
  return `${where} ${rule === null ? '' : `${rule} `}${people.join(', ')}: ${what}: ${why}`;
}

/** `line 3 (alice)` for `users[2].name`. */
function userAt(place: string, names: readonly string[]): string {
  const index = /^users\[(\d+)\]/.exec(place)?.[1];
  return index === undefined ? place : JSON.stringify(names[Number(index)] ?? '');
}
