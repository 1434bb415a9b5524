import type { CheckedFile, FileFinding } from './check-file.js';
import { checkCodes, checkOf } from '../../rules-files/check/checks.js';
import { VERSION } from '../../platform/operations/version.js';

/** The longest excerpt of a line in characters: rules files are often one long line. */
const MAX_EXCERPT = 100;
/** The most characters of an excerpt before the place of the finding. */
const MAX_LEADING_CHARS = 40;

/** Findings as readable lines: place, severity, code, message, and the line with a caret below the place. */
export function reportLines(files: readonly CheckedFile[]): string[] {
  const findingLines = files.flatMap(({ text, findings }) => {
    const lines = text.split('\n');
    return findings.flatMap((finding) => {
      const { file, line, column, severity, code, message, witness } = finding;
      const headLine = `${file}:${line}:${column}: ${severity}: ${message} [${code}]`;
      return [headLine, ...excerptLines(lines, finding), ...(witness === null ? [] : [`    = ${witness}`]), ''];
    });
  });
  return [...findingLines, summaryLine(files)];
}

function excerptLines(lines: readonly string[], { line, column, code }: FileFinding): string[] {
  const lineText = lines[line - 1]?.replace(/\r$/, '');
  if (lineText === undefined || code === 'file-unreadable') return [];
  const excerptStart = lineText.length <= MAX_EXCERPT ? 0 : Math.max(0, column - 1 - MAX_LEADING_CHARS);
  const shownText = lineText.slice(excerptStart, excerptStart + MAX_EXCERPT);
  const lineNumber = String(line);
  const indentation = shownText.slice(0, column - 1 - excerptStart).replace(/[^\t]/gu, ' ');
  return [`  ${lineNumber} | ${shownText}`, `  ${' '.repeat(lineNumber.length)} | ${indentation}^`];
}

function summaryLine(files: readonly CheckedFile[]): string {
  const findings = files.flatMap((file) => file.findings);
  const findingCountOf = (severity: FileFinding['severity']): number =>
    findings.filter((finding) => finding.severity === severity).length;
  const countTexts = [
    countText(findingCountOf('error'), 'error'),
    countText(findingCountOf('warning'), 'warning'),
    `${findingCountOf('info')} info`,
  ].join(', ');
  return `${countText(files.length, 'file')} checked: ${findings.length === 0 ? 'nothing found' : countTexts}`;
}

function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

const SARIF_LEVELS = { error: 'error', warning: 'warning', info: 'note' } as const;

/** The findings as a SARIF 2.1.0 log with one run, for code hosts and editors. */
export function sarifReport(files: readonly CheckedFile[]): object {
  const findings = files.flatMap((file) => file.findings);
  const codes = checkCodes();
  return sarifLog('grantline acl check', codes.map(ruleOf), {
    invocations: [{ executionSuccessful: !findings.some(({ code }) => code === 'file-unreadable') }],
    artifacts: [...new Set(files.map(({ name }) => uriOf(name)))].map((uri) => ({ location: { uri } })),
    results: findings.map((finding) => resultOf(finding, codes)),
  });
}

/** A SARIF 2.1.0 log with one run. @param run the fields of the run besides its tool, such as its results */
export function sarifLog(name: string, rules: readonly object[], run: object): object {
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [{ tool: { driver: { name, version: VERSION, rules } }, columnKind: 'utf16CodeUnits', ...run }],
  };
}

export function locationsOf({
  file,
  line,
  column,
  rule,
}: Pick<FileFinding, 'file' | 'line' | 'column' | 'rule'>): object[] {
  const physicalLocation = { artifactLocation: { uri: uriOf(file) }, region: { startLine: line, startColumn: column } };
  return [{ physicalLocation, ...(rule !== null && { logicalLocations: [{ fullyQualifiedName: rule }] }) }];
}

function ruleOf(code: string): object {
  const { severity = 'warning', explanation = '' } = checkOf(code) ?? {};
  return { id: code, fullDescription: { text: explanation }, defaultConfiguration: { level: SARIF_LEVELS[severity] } };
}

function resultOf(finding: FileFinding, codes: readonly string[]): object {
  const { code, severity, message, witness } = finding;
  return {
    ruleId: code,
    ruleIndex: codes.indexOf(code),
    level: SARIF_LEVELS[severity],
    message: { text: message },
    locations: locationsOf(finding),
    ...(witness !== null && { properties: { witness } }),
  };
}

/** A path as a URI reference: keeps separators and escapes other characters that a URI cannot contain. */
function uriOf(name: string): string {
  if (name === '-') return 'stdin';
  return name.split(/[\\/]/).map(encodeURIComponent).join('/');
}
