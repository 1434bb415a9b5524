import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { checkCompiled, compileFor } from '../acl-sync/domain/candidate.js';
import { findingLines } from '../acl-sync/domain/run-text.js';
import { snapshotSettings } from '../grants/domain/snapshot-store.js';
import { SystemClock } from '../kernel/clock.js';
import { loadSettings } from '../platform/settings/settings-loader.js';
import { verdictForm } from '../trino-rules/answers/guarantee-verdicts.js';
import { isError } from '../trino-rules/document/finding.js';
import { ruleCount } from '../trino-rules/document/rules-document.js';
import { readSnapshot } from '../trino-rules/model/snapshot-file.js';
import { print, printJson, Unusable } from './output.js';
import { writeResult } from './files.js';
import { problemLines, readStructured } from './structured-file.js';

interface Options {
  snapshot: string;
  out: string;
  maxBytes?: string;
  json?: true;
}

/**
 * Compiles a snapshot file to `rules.json` with every check, without a database or a cluster. Exit code 1: a check refuses the rules,
 * and they are not written; 2: the file cannot be read.
 */
export async function compileSnapshot({ snapshot: file, out, maxBytes, json }: Options): Promise<number> {
  const settings = await loadSettings('acl compile');
  const defaults = { settings: snapshotSettings(settings), at: new SystemClock().now() };
  const reading = readSnapshot(readStructured(file), defaults);
  if (reading.kind === 'refused') throw new Unusable(problemLines(file, reading.problems));
  const { snapshot } = reading;
  const begun = performance.now();
  const limit = maxBytes === undefined ? null : Number(maxBytes);
  const compiled = compileFor(snapshot, limit);
  if (compiled.kind === 'too-large') {
    const { bytes, finding } = compiled;
    if (json) printJson({ file: null, bytes, findings: [finding] });
    else print(['refused; nothing is written', ...findingLines(finding)]);
    return 1;
  }
  const { text, hash, document } = compiled.rules;
  const compiledAt = performance.now();
  const { findings, verdicts } = checkCompiled(snapshot, compiled.rules, {
    bytes: limit,
    warnTableRules: settings.acl.warnTableRules,
  });
  const checked = performance.now();
  const refused = findings.some(isError);
  const path = join(out, 'rules.json');
  if (!refused) {
    await mkdir(out, { recursive: true });
    await writeResult(path, text, settings.acl.fileMode);
  }
  const rules = ruleCount(document);
  const bytes = Buffer.byteLength(text);
  const milliseconds = { compile: Math.round(compiledAt - begun), check: Math.round(checked - compiledAt) };
  const guarantees = snapshot.guarantees && { guarantees: verdicts.map(verdictForm) };
  if (json) printJson({ file: refused ? null : path, hash, rules, bytes, milliseconds, findings, ...guarantees });
  else {
    const figures = `compiled in ${milliseconds.compile} ms, checked in ${milliseconds.check} ms`;
    const head = `${refused ? 'refused; nothing is written' : path}: ${rules} rules, ${bytes} bytes, ${figures}`;
    print([head, ...findings.flatMap(findingLines)]);
  }
  return refused ? 1 : 0;
}
