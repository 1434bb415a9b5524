import { loadServiceSettings } from '../platform/settings/settings-loader.js';
import { type ForeignVerdict, readGuarantees, testForeign } from '../rules-files/foreign/foreign-guarantees.js';
import { displayName, namedLevels } from '../trino-rules/engine/access-fact.js';
import { locationsOf, sarifLog } from './check/reports.js';
import { importBudget, readForeignRules, type ReadRulesFile, withinBudget } from './foreign-rules-file.js';
import { print, printJson, Unusable } from './output.js';
import { problemLines, readStructured } from './structured-file.js';
import { readListedUsers } from './users-file.js';

interface Options {
  guarantees: string;
  users?: string;
  format: string;
  serviceAccount?: string[];
  metadataCatalog?: string;
}

/** The verdicts of all guarantees on one file. */
interface TestedFile {
  file: string;
  read: ReadRulesFile;
  verdicts: readonly ForeignVerdict[];
}

/**
 * Tests guarantees against rules files, or manifests with rules in them. Exit code 0: all hold in all files; 1: at least one is broken;
 * 2: a file cannot be read, or a guarantee cannot be decided.
 */
export async function testGuarantees(
  names: string[],
  { guarantees: file, users, format, serviceAccount, metadataCatalog }: Options,
): Promise<number> {
  const settings = loadServiceSettings();
  const serviceAccounts = serviceAccount ?? settings.serviceAccounts;
  const untouched = { serviceAccounts, metadataCatalog: metadataCatalog ?? settings.metadataCatalog };
  const given = readStructured(file);
  const listed = users === undefined ? null : readListedUsers(users);
  const reading = readGuarantees(given, untouched);
  if (reading.kind === 'refused') throw new Unusable(problemLines(file, reading.problems));
  const { read } = reading;
  if (listed === null && read.groups.size > 0)
    throw new Unusable([`${file}: names groups, whose members a list of users says (--users)`]);
  const tested: TestedFile[] = [];
  for (const name of names) {
    const rules = await readForeignRules(name);
    const result = withinBudget(`${name}: the rules combine more names and users than can be judged`, () =>
      testForeign(rules.rules, read, listed, untouched, importBudget(rules)),
    );
    if (result.kind === 'undecided') {
      const placed = result.problems.map(({ rule, at, message }) => `${placeIn(name, rules, at)} ${rule}: ${message}`);
      throw new Unusable(placed);
    }
    tested.push({ file: name, read: rules, verdicts: result.verdicts });
  }
  if (format === 'json') printJson({ service_accounts: serviceAccounts, files: tested.map((each) => fileForm(each)) });
  else if (format === 'sarif') printJson(sarifOf(tested), 2);
  else print(linesOf(tested, serviceAccounts));
  return tested.some(({ verdicts }) => verdicts.some(({ isBroken }) => isBroken)) ? 1 : 0;
}

function placeIn(file: string, read: ReadRulesFile, at: number): string {
  const { line, column } = read.placeOf(at);
  return `${file}:${line}:${column}`;
}

function linesOf(files: readonly TestedFile[], serviceAccounts: readonly string[]): string[] {
  const lines = files.flatMap(({ file, read, verdicts }) =>
    verdicts.flatMap(({ guarantee, isBroken, brokenBy, breaches }) => [
      `${file}: ${isBroken ? 'BROKEN' : 'holds'}  ${guarantee.name}`,
      ...breaches.map(({ message, rule }) =>
        rule === null ? `  ${message}` : `  ${message} by ${rule.place} (${placeIn(file, read, rule.at)})`,
      ),
      ...(brokenBy > breaches.length ? [`  ${brokenBy} in all`] : []),
    ]),
  );
  const untouched = serviceAccounts.length === 0 ? [] : [`not about: ${serviceAccounts.join(', ')}`];
  const all = files.flatMap(({ verdicts }) => verdicts);
  const broken = all.filter(({ isBroken }) => isBroken).length;
  return [...lines, ...untouched, `${all.length} judged, ${broken} broken`];
}

function fileForm({ file, read, verdicts }: TestedFile): object {
  const guarantees = verdicts.map((verdict) => ({
    name: verdict.guarantee.name,
    kind: verdict.guarantee.kind,
    state: verdict.isBroken ? 'broken' : 'holds',
    broken_by: verdict.brokenBy,
    witnesses: verdict.breaches.map(({ person, privilege, fact, message, rule }) => ({
      person: displayName(person, 'anybody else'),
      ...('resource' in fact && { resource: namedLevels(fact.resource) }),
      privilege,
      message,
      deciding_rule: rule === null ? null : { rule: rule.place, ...read.placeOf(rule.at) },
    })),
  }));
  return { file, guarantees };
}

function sarifOf(files: readonly TestedFile[]): object {
  const names = [...new Set(files.flatMap(({ verdicts }) => verdicts.map(({ guarantee }) => guarantee.name)))];
  const results = files.flatMap(({ file, read, verdicts }) =>
    verdicts.flatMap(({ guarantee: { name }, breaches }) =>
      breaches.map(({ message, rule }) => ({
        ruleId: 'guarantee-broken',
        level: 'error',
        message: { text: `${name}: ${message}` },
        locations: locationsOf({ file, ...read.placeOf(rule?.at ?? read.at), rule: rule?.place ?? null }),
        properties: { guarantee: name },
      })),
    ),
  );
  const rule = { id: 'guarantee-broken', fullDescription: { text: `One of: ${names.join('; ')}` } };
  return sarifLog('grantline acl test', [rule], { results });
}
