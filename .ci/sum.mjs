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
    failedTests: [...report.suites.flatMap(failedInSuite), ...report.errors.map((error) => firstLine(error.message))],
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
    return status === 'failed' ? [`${fileName(name)}: ${firstLine(message.replace(/^\s*●.*\n/, ''))}`] : [];
  return tests.map((test) => `${fileName(name)}: ${test.fullName}: ${firstLine(test.failureMessages[0])}`);
}

function failedInSuite({ specs = [], suites = [] }) {
  const tests = specs
    .filter((spec) => !spec.ok)
    .map(({ file, title, tests }) => `${file}: ${title}: ${firstLine(tests[0]?.results[0]?.error?.message)}`);
  return [...tests, ...suites.flatMap(failedInSuite)];
}

function fileName(path) {
  return path.replace(`${process.cwd()}/`, '');
}

function firstLine(text) {
  return stripVTControlCharacters(text ?? '')
    .trim()
    .split('\n', 1)[0];
}
