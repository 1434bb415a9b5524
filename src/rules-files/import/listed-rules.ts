import { getOrInsert } from '../../kernel/collections.js';
import { resourceNameProblem } from '../../kernel/name.js';
import { filterLeak, groupsOfProvider } from '../../trino-rules/document/expression-warnings.js';
import { policyExpressionProblem } from '../../trino-rules/model/sql-expression.js';
import {
  type ForeignExpression,
  type ForeignRule,
  type ForeignRules,
  inOneLine,
  isOfIdentity,
} from '../check/foreign-rules.js';
import type { ColumnRule, RulesDocument, TableRule } from '../../trino-rules/document/rules-document.js';
import type { ListedUsers } from '../foreign/audiences.js';
import { foreignDocument } from '../foreign/foreign-document.js';
import { type ImportCode, importFinding, type ImportFinding } from './import-finding.js';

/** The rules of any file for listed users, with groups and roles resolved. */
export interface ListedRules {
  document: RulesDocument;
  /** The rule of the file behind a rule of the document; null: an absent section gives the access. */
  sourceOf(rule: object): ForeignRule | null;
  /** Findings about rules that could not be judged, and about expressions that leak. */
  findings: ImportFinding[];
  /** Why no policies restrict as this rule does; null: they can. */
  problemOf(rule: TableRule): string | null;
}

export function listedRules(rules: ForeignRules, listed: ListedUsers): ListedRules {
  const foreign = foreignDocument(rules, listed, ({ text }) => inOneLine(text));
  const problems = new Map<TableRule, string | null>();
  return {
    document: foreign.document,
    sourceOf: (rule) => foreign.sourceOf(rule),
    findings: [
      ...foreign.unjudged.map(({ rule, at, message }) => {
        const place = { rule: rule.place, at };
        return importFinding('import-pattern-not-judged', listed.namesOf(rule), givenBy(rule), message, place);
      }),
      ...expressionFindings(rules.get('tables') ?? [], listed),
    ],
    problemOf: (rule) =>
      getOrInsert(problems, rule, () => {
        const source = foreign.sourceOf(rule);
        return source === null ? null : policyProblem(expressionsOf(source), rule.columns ?? []);
      }),
  };
}

function givenBy({ section, gives, patterns }: ForeignRule): string[] {
  return section === 'impersonation' ? [`impersonate ${patterns.get('new_user')?.text ?? ''}`] : [...gives];
}

function expressionsOf({ filter, columns }: ForeignRule): ForeignExpression[] {
  return [filter, ...columns.map(({ allow, mask }) => (allow ? mask : null))].filter((each) => each !== null);
}

/** One finding for each expression that the import takes over, at its first rule. */
function expressionFindings(tables: readonly ForeignRule[], listed: ListedUsers): ImportFinding[] {
  const found = new Map<string, ImportFinding>();
  for (const rule of tables) {
    const isTakenOver = rule.gives.length > 0 && policyProblem(expressionsOf(rule), []) === null;
    const people = isTakenOver ? listed.namesOf(rule) : [];
    const report = (code: ImportCode, text: string, why: string | null): void => {
      if (why === null || people.length === 0) return;
      const place = { rule: rule.place, at: rule.at };
      const finding = getOrInsert(found, code + text, () => importFinding(code, [], [inOneLine(text)], why, place));
      finding.people = [...new Set([...finding.people, ...people])];
    };
    for (const { text } of expressionsOf(rule)) report('import-engine-groups', text, groupsOfProvider(text));
    if (rule.filter !== null) report('import-filter-leaks', rule.filter.text, filterLeak(rule.filter.text));
  }
  return [...found.values()];
}

/** Why policies cannot have the effect of these expressions and columns; null: they can. */
function policyProblem(expressions: readonly ForeignExpression[], columns: readonly ColumnRule[]): string | null {
  for (const expression of expressions) {
    const { text, runsAs } = expression;
    const problem = policyExpressionProblem(inOneLine(text));
    if (problem !== null) return `no policy can hold its SQL: ${problem}`;
    if (isOfIdentity(expression)) return `its SQL is evaluated as ${runsAs}, and that of a policy as the user who asks`;
  }
  const column = columns.find(({ name }) => resourceNameProblem(name) !== null);
  return column === undefined
    ? null
    : `no policy can name the column ${JSON.stringify(column.name)}: it ${resourceNameProblem(column.name) ?? ''}`;
}
