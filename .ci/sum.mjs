// Sums a run: sum.mjs FOLDER SUITE… reads the reports of jest and Playwright there, and `steps`. Names what failed, keeps the times in
// times.json beside itself; the last line is `N passed, N failed`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const [folder, ...suites] = process.argv.slice(2);
const steps = readFileSync(`${folder}/steps`, 'utf8').trimEnd().split('\n').map(stepIn);
for (const { step, seconds, status } of steps)
  console.log(`${step.padEnd(24)} ${String(seconds).padStart(5)} s  ${status === 0 ? 'ok' : `failed (${status})`}`);
const times = { steps, files: [] };
let passed = 0;
let failed = 0;
let broken = steps.some(({ status }) => status !== 0);
for (const suite of suites) {
  let report;
  try {
    report = asJest(JSON.parse(readFileSync(`${folder}/${suite}.json`, 'utf8')));
    times.files.push(...report.times.map((time) => ({ suite, ...time })));
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
times.files.sort((one, other) => other.seconds - one.seconds);
writeFileSync(join(import.meta.dirname, 'times.json'), JSON.stringify(times, null, 1));
// A step that failed without a failed test still shows in the last line.
if (broken && failed === 0) failed = 1;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = broken || failed > 0 ? 1 : 0;

/** A line of .ci/run. */
function stepIn(line) {
  const [step, seconds, status] = line.split('\t');
  return { step, seconds: Number(seconds), status: Number(status) };
}

/** The figures of either report by jest's names, and what failed. A test that passed in a second try has failed. */
function asJest(report) {
  if (report.stats === undefined) {
    const times = report.testResults.map(({ name, startTime, endTime }) => timeOf(fileName(name), endTime - startTime));
    return { ...report, failedTests: report.testResults.flatMap(failedInFile), times };
  }
  const { expected, unexpected, flaky, skipped } = report.stats;
  return {
    times: report.suites.map((suite) => timeOf(suite.file, durationOf(suite))),
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

function durationOf({ specs = [], suites = [] }) {
  const results = specs.flatMap(({ tests }) => tests).flatMap((test) => test.results);
  return [...results.map(({ duration }) => duration), ...suites.map(durationOf)].reduce((sum, one) => sum + one, 0);
}

function timeOf(file, milliseconds) {
  return { file, seconds: Math.round(milliseconds / 100) / 10 };
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
