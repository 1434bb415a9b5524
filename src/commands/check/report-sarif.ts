import { checkCodes, explain } from '../../rules-files/check/checks.js';
import { VERSION } from '../../platform/operations/version.js';
import type { CheckedFile, FileFinding } from './check-file.js';

/** SARIF's words for severities. */
const LEVELS = { error: 'error', warning: 'warning', info: 'note' } as const;

/** The findings as a SARIF 2.1.0 log with one run, for code hosts and editors. */
export function sarifReport(files: readonly CheckedFile[]): object {
  const findings = files.flatMap((file) => file.findings);
  const codes = checkCodes();
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'grantline acl check', version: VERSION, rules: codes.map(ruleOf) } },
        columnKind: 'utf16CodeUnits',
        invocations: [{ executionSuccessful: !findings.some(({ code }) => code === 'file-unreadable') }],
        artifacts: [...new Set(files.map(({ name }) => uriOf(name)))].map((uri) => ({ location: { uri } })),
        results: findings.map((finding) => resultOf(finding, codes)),
      },
    ],
  };
}

function ruleOf(code: string): object {
  const { severity = 'warning', explanation = '' } = explain(code) ?? {};
  return { id: code, fullDescription: { text: explanation }, defaultConfiguration: { level: LEVELS[severity] } };
}

function resultOf(
  { file, line, column, code, severity, message, rule, witness }: FileFinding,
  codes: readonly string[],
): object {
  const physicalLocation = { artifactLocation: { uri: uriOf(file) }, region: { startLine: line, startColumn: column } };
  const logicalLocations = rule === null ? {} : { logicalLocations: [{ fullyQualifiedName: rule }] };
  return {
    ruleId: code,
    ruleIndex: codes.indexOf(code),
    level: LEVELS[severity],
    message: { text: message },
    locations: [{ physicalLocation, ...logicalLocations }],
    ...(witness !== null && { properties: { witness } }),
  };
}

/** A path as a reference: separators stay, everything else that a URI does not hold is escaped. */
function uriOf(name: string): string {
  if (name === '-') return 'stdin';
  return name.split(/[\\/]/).map(encodeURIComponent).join('/');
}
