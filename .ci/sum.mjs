// Sums the reports of jest and Playwright: sum.mjs FOLDER FAILED_STEPS SUITE… Names what failed; the last line of the run is `N passed, N failed`.
import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

const [folder, failedSteps, ...suites] = process.argv.slice(2);
let passed = 0;
let failed = 0;
let broken = Number(failedSteps) > 0;
for (const suite of suites) {
  let report;
  try {
    report = asJest(JSON.parse(readFileSync(`${folder}/${suite}.json`, 'utf8')));
  } catch {
    console.log(`${suite}: no report`);
    broken = true;
    continue;
  }
  for (const name of report.failedTests) console.log(`failed in ${suite}: ${name}`);
  passed += report.numPassedTests;
  failed += report.numFailedTests + report.numRuntimeErrorTestSuites;
  const left = report.numPendingTests + report.numTodoTests;
  if (report.numPassedTests === 0 || left > 0) {
    console.log(`${suite}: ${report.numPassedTests} ran, ${left} were left out`);
    broken = true;
  }
}
// A step that failed without a failed test still shows in the last line.
if (broken && failed === 0) failed = 1;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = broken || failed > 0 ? 1 : 0;

/** The figures of either report by jest's names, and what failed. A test that passed in a second try has failed. */
function asJest(report) {
  if (report.stats === undefined) return { ...report, failedTests: report.testResults.flatMap(failedInFile) };
  const { expected, unexpected, flaky, skipped } = report.stats;
  return {
    failedTests: [...report.suites.flatMap(failedInSuite), ...report.errors.map((error) => briefly(error.message))],
    numPassedTests: expected,
    numFailedTests: unexpected + flaky,
    numRuntimeErrorTestSuites: report.errors.length,
    numPendingTests: skipped,
    numTodoTests: 0,
  };
}

function failedInFile({ name, status, message, assertionResults }) {
  const tests = assertionResults.filter((test) => test.status === 'failed');
  if (tests.length === 0)
    return status === 'failed' ? [`${fileName(name)}: ${briefly(message.replace(/^\s*●.*\n/, ''))}`] : [];
  return tests.map((test) => `${fileName(name)}: ${test.fullName}: ${briefly(test.failureMessages[0])}`);
}

function failedInSuite({ specs = [], suites = [] }) {
  const tests = specs
    .filter((spec) => !spec.ok)
    .map(({ file, title, tests }) => `${file}: ${title}: ${briefly(tests[0]?.results[0]?.error?.message)}`);
  return [...tests, ...suites.flatMap(failedInSuite)];
}

function fileName(path) {
  return path.replace(`${process.cwd()}/`, '');
}

/** The first line, and below it the first of what was expected and what was received: of Playwright's tests the output may be gone. */
function briefly(text) {
  const [first, ...lines] = stripVTControlCharacters(text ?? '')
    .trim()
    .split('\n');
  const compared = lines.filter(
    (line) => /^\s*([-+] |Expected|Received)/.test(line) && !/^\s*[-+] (Exp|Rec)\S+ +[-+] \d+$/.test(line),
  );
  return [first, ...compared.slice(0, 8).map((line) => `  ${line.trim()}`)].join('\n');
}
