// Sums the reports of jest and Playwright: sum.mjs FOLDER FAILED_STEPS SUITE… Prints `N passed, N failed` as the last line of the run.
import { readFileSync } from 'node:fs';

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

/** Playwright's figures by jest's names; jest's own stay as they are. A test that passed in a second try has failed. */
function asJest(report) {
  if (report.stats === undefined) return report;
  const { expected, unexpected, flaky, skipped } = report.stats;
  return {
    numPassedTests: expected,
    numFailedTests: unexpected + flaky,
    numRuntimeErrorTestSuites: report.errors.length,
    numPendingTests: skipped,
    numTodoTests: 0,
  };
}
