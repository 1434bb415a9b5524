import { loadServiceSettings } from '../platform/settings/settings-loader.js';
import {
  type ForeignVerdict,
  readGuarantees,
  testForeignGuarantees,
} from '../rules-files/foreign/foreign-guarantees.js';
import { displayName, onlyNamedLevels } from '../trino-rules/engine/access-fact.js';
import { locationsOf, sarifLog } from './check/reports.js';
import { importBudget, readForeignRules, type ParsedRulesFile, withinBudget } from './foreign-rules-file.js';
import { print, printJson, UnusableInput } from './output.js';
import { problemLines, readStructured } from './structured-file.js';
import { readListedUsers } from './users-file.js';

interface Options {
  guarantees: string;
  users?: string;
  format: string;
  serviceAccount?: string[];
  metadataCatalog?: string;
}

interface TestedFile {
  file: string;
  rulesFile: ParsedRulesFile;
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
  const exemptions = { serviceAccounts, metadataCatalog: metadataCatalog ?? settings.metadataCatalog };
  const content = readStructured(file);
  const listedUsers = users === undefined ? null : readListedUsers(users);
  const reading = readGuarantees(content, exemptions);
  if (reading.kind === 'refused') throw new UnusableInput(problemLines(file, reading.problems));
  const { namedGuarantees } = reading;
  if (listedUsers === null && namedGuarantees.groups.size > 0)
    throw new UnusableInput([`${file}: names groups, whose members a list of users says (--users)`]);
  const testedFiles: TestedFile[] = [];
  for (const name of names) {
    const rulesFile = await readForeignRules(name);
    const judgement = withinBudget(`${name}: the rules combine more names and users than can be judged`, () =>
      testForeignGuarantees(rulesFile.rules, namedGuarantees, listedUsers, exemptions, importBudget(rulesFile)),
    );
    if (judgement.kind === 'undecided')
      throw new UnusableInput(
        judgement.problems.map(({ rule, at, message }) => `${rulesFile.placeText(name, at)} ${rule}: ${message}`),
      );
    testedFiles.push({ file: name, rulesFile, verdicts: judgement.verdicts });
  }
  if (format === 'json')
    printJson({ service_accounts: serviceAccounts, files: testedFiles.map((each) => testedFileJson(each)) });
  else if (format === 'sarif') printJson(sarifOf(testedFiles), 2);
  else print(reportLines(testedFiles, serviceAccounts));
  return testedFiles.some(({ verdicts }) => verdicts.some(({ isBroken }) => isBroken)) ? 1 : 0;
}

function reportLines(files: readonly TestedFile[], serviceAccounts: readonly string[]): string[] {
  const lines = files.flatMap(({ file, rulesFile, verdicts }) =>
    verdicts.flatMap(({ guarantee, isBroken, brokenBy, breaches }) => [
      `${file}: ${isBroken ? 'BROKEN' : 'holds'}  ${guarantee.name}`,
      ...breaches.map(({ message, rule }) =>
        rule === null ? `  ${message}` : `  ${message} by ${rule.place} (${rulesFile.placeText(file, rule.at)})`,
      ),
      ...(brokenBy > breaches.length ? [`  ${brokenBy} in all`] : []),
    ]),
  );
  const exemptionLines = serviceAccounts.length === 0 ? [] : [`not about: ${serviceAccounts.join(', ')}`];
  const allVerdicts = files.flatMap(({ verdicts }) => verdicts);
  const brokenCount = allVerdicts.filter(({ isBroken }) => isBroken).length;
  return [...lines, ...exemptionLines, `${allVerdicts.length} judged, ${brokenCount} broken`];
}

function testedFileJson({ file, rulesFile, verdicts }: TestedFile): object {
  const guarantees = verdicts.map((verdict) => ({
    name: verdict.guarantee.name,
    kind: verdict.guarantee.kind,
    state: verdict.isBroken ? 'broken' : 'holds',
    broken_by: verdict.brokenBy,
    witnesses: verdict.breaches.map(({ person, privilege, fact, message, rule }) => ({
      person: displayName(person, 'anybody else'),
      ...('resource' in fact && { resource: onlyNamedLevels(fact.resource) }),
      privilege,
      message,
      deciding_rule: rule === null ? null : { rule: rule.place, ...rulesFile.placeOf(rule.at) },
    })),
  }));
  return { file, guarantees };
}

function sarifOf(files: readonly TestedFile[]): object {
  const names = [...new Set(files.flatMap(({ verdicts }) => verdicts.map(({ guarantee }) => guarantee.name)))];
  const results = files.flatMap(({ file, rulesFile, verdicts }) =>
    verdicts.flatMap(({ guarantee: { name }, breaches }) =>
      breaches.map(({ message, rule }) => ({
        ruleId: 'guarantee-broken',
        level: 'error',
        message: { text: `${name}: ${message}` },
        locations: locationsOf({ file, ...rulesFile.placeOf(rule?.at ?? rulesFile.at), rule: rule?.place ?? null }),
        properties: { guarantee: name },
      })),
    ),
  );
  const rule = { id: 'guarantee-broken', fullDescription: { text: `One of: ${names.join('; ')}` } };
  return sarifLog('grantline acl test', [rule], { results });
}
