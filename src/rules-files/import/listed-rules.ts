import { getOrInsert } from '../../kernel/collections.js';
import { resourceNameProblem } from '../../kernel/name.js';
import { filterLeakProblem, currentGroupsProblem } from '../../trino-rules/document/expression-warnings.js';
import { policyExpressionProblem } from '../../trino-rules/model/sql-expression.js';
import {
  type ForeignExpression,
  type ForeignRule,
  type ForeignRules,
  toOneLine,
  usesIdentity,
} from '../check/foreign-rules.js';
import type { ColumnRule, RulesDocument, TableRule } from '../../trino-rules/document/rules-document.js';
import type { ListedUsers } from '../foreign/audiences.js';
import { foreignDocument } from '../foreign/foreign-document.js';
import { type ImportCode, importFinding, type ImportFinding } from './import-finding.js';

export interface ListedRules {
  document: RulesDocument;
  /** The rule of the file from which a rule of `document` was made. Null if the rule of `document` stands for an absent section. */
  sourceOf(rule: object): ForeignRule | null;
  /** Findings about rules that could not be judged, and about filters that can reveal the rows that they leave out. */
  findings: ImportFinding[];
  /** The reason why the restrictions of this rule cannot become policies; null: they can. */
  problemOf(rule: TableRule): string | null;
}

export function listedRules(rules: ForeignRules, listedUsers: ListedUsers): ListedRules {
  const convertedRules = foreignDocument(rules, listedUsers, ({ text }) => toOneLine(text));
  const problemsByRule = new Map<TableRule, string | null>();
  return {
    document: convertedRules.document,
    sourceOf: (rule) => convertedRules.sourceOf(rule),
    findings: [
      ...convertedRules.unjudgedPatterns.map(({ rule, at, message }) => {
        const place = { rule: rule.place, at };
        return importFinding('import-pattern-not-judged', listedUsers.namesOf(rule), rightTexts(rule), message, place);
      }),
      ...expressionFindings(rules.get('tables') ?? [], listedUsers),
    ],
    problemOf: (rule) =>
      getOrInsert(problemsByRule, rule, () => {
        const sourceRule = convertedRules.sourceOf(rule);
        return sourceRule === null ? null : policyProblem(expressionsOf(sourceRule), rule.columns ?? []);
      }),
  };
}

function rightTexts({ section, rights, patterns }: ForeignRule): string[] {
  return section === 'impersonation' ? [`impersonate ${patterns.get('new_user')?.text ?? ''}`] : [...rights];
}

function expressionsOf({ filter, columns }: ForeignRule): ForeignExpression[] {
  return [filter, ...columns.map(({ allow, mask }) => (allow ? mask : null))].filter((each) => each !== null);
}

/** Findings about the expressions that the import copies, each at the first rule that contains the expression. */
function expressionFindings(tableRules: readonly ForeignRule[], listedUsers: ListedUsers): ImportFinding[] {
  const findingsByKey = new Map<string, ImportFinding>();
  for (const rule of tableRules) {
    const isImported = rule.rights.length > 0 && policyProblem(expressionsOf(rule), []) === null;
    const people = isImported ? listedUsers.namesOf(rule) : [];
    const report = (code: ImportCode, text: string, why: string | null): void => {
      if (why === null || people.length === 0) return;
      const place = { rule: rule.place, at: rule.at };
      const newFinding = () => importFinding(code, [], [toOneLine(text)], why, place);
      const finding = getOrInsert(findingsByKey, code + text, newFinding);
      finding.people = [...new Set([...finding.people, ...people])];
    };
    for (const { text } of expressionsOf(rule)) report('import-engine-groups', text, currentGroupsProblem(text));
    if (rule.filter !== null) report('import-filter-leaks', rule.filter.text, filterLeakProblem(rule.filter.text));
  }
  return [...findingsByKey.values()];
}

/** The reason why these filters, masks and columns cannot become policies; null: they can. */
function policyProblem(expressions: readonly ForeignExpression[], columns: readonly ColumnRule[]): string | null {
  for (const expression of expressions) {
    const { text, runsAs } = expression;
    const problem = policyExpressionProblem(toOneLine(text));
    if (problem !== null) return `no policy can hold its SQL: ${problem}`;
    if (usesIdentity(expression)) return `its SQL is evaluated as ${runsAs}, and that of a policy as the user who asks`;
  }
  const column = columns.find(({ name }) => resourceNameProblem(name) !== null);
  return column === undefined
    ? null
    : `no policy can name the column ${JSON.stringify(column.name)}: it ${resourceNameProblem(column.name) ?? ''}`;
}
