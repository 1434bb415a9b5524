import { createHash, createPrivateKey } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { checkCompiled, compileFor } from '../acl-sync/domain/candidate.js';
import { findingLines } from '../acl-sync/domain/run-text.js';
import { snapshotSettings } from '../grants/domain/snapshot-store.js';
import { SystemClock } from '../kernel/clock.js';
import { loadSettings } from '../platform/settings/settings-loader.js';
import { isSigningKey } from '../platform/settings/settings-reader.js';
import type { Settings } from '../platform/settings/settings.js';
import { verdictForm } from '../trino-rules/answers/guarantee-verdicts.js';
import { type Finding, isError } from '../trino-rules/document/finding.js';
import { ruleCount } from '../trino-rules/document/rules-document.js';
import { readSnapshot } from '../trino-rules/model/snapshot-file.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { bundleArchive, dataText } from '../trino-rules/opa/archive.js';
import { bundleData } from '../trino-rules/opa/bundle-data.js';
import { judgeBundle } from '../trino-rules/verify/bundle-proof.js';
import { readBytes, writeResult } from './files.js';
import { print, printJson, UnusableInput } from './output.js';
import { problemLines, readStructured } from './structured-file.js';

interface Options {
  snapshot: string;
  out: string;
  target: 'rules' | 'opa';
  signingKey?: string;
  maxBytes?: string;
  json?: true;
}

interface Artefact {
  name: string;
  content: string | Uint8Array;
  hash: string;
  findings: readonly Finding[];
  milliseconds: { compile: number; check: number };
  /** Counts of the content in words, such as `12 rules, `. `extraFields`: further fields of the JSON output. */
  countsText: string;
  extraFields: object;
}

/**
 * Compiles a snapshot file to `rules.json`, or to the bundle that OPA reads, with every check, without a database or a cluster. Exit code
 * 1: a check refuses the result, and it is not written; 2: a file cannot be read.
 */
export async function compileSnapshot(options: Options): Promise<number> {
  const { snapshot: snapshotPath, out, json } = options;
  const settings = await loadSettings('acl compile');
  const defaults = { settings: snapshotSettings(settings), at: new SystemClock().now() };
  const reading = readSnapshot(readStructured(snapshotPath), defaults);
  if (reading.kind === 'refused') throw new UnusableInput(problemLines(snapshotPath, reading.problems));
  const { snapshot } = reading;
  const artefact =
    options.target === 'opa' ? bundleArtefact(snapshot, options) : rulesArtefact(snapshot, options, settings);
  if ('finding' in artefact) {
    const { bytes, finding } = artefact;
    if (json) printJson({ file: null, bytes, findings: [finding] });
    else print(['refused; nothing is written', ...findingLines(finding)]);
    return 1;
  }
  const { name, content, hash, findings, milliseconds, countsText, extraFields } = artefact;
  const isRefused = findings.some(isError);
  const path = join(out, name);
  if (!isRefused) {
    await mkdir(out, { recursive: true });
    await writeResult(path, content, settings.acl.fileMode);
  }
  const bytes = Buffer.byteLength(content);
  if (json) printJson({ file: isRefused ? null : path, hash, bytes, milliseconds, findings, ...extraFields });
  else {
    const figures = `compiled in ${milliseconds.compile} ms, checked in ${milliseconds.check} ms`;
    const headLine = `${isRefused ? 'refused; nothing is written' : path}: ${countsText}${bytes} bytes, ${figures}`;
    print([headLine, ...findings.flatMap(findingLines)]);
  }
  return isRefused ? 1 : 0;
}

function rulesArtefact(snapshot: Snapshot, { maxBytes }: Options, { acl }: Settings) {
  const startedAt = performance.now();
  const byteLimit = maxBytes === undefined ? null : Number(maxBytes);
  const compilation = compileFor(snapshot, byteLimit);
  if (compilation.kind === 'too-large') return compilation;
  const { text, hash, document } = compilation.rules;
  const compiledAt = performance.now();
  const { findings, verdicts } = checkCompiled(snapshot, compilation.rules, {
    bytes: byteLimit,
    warnTableRules: acl.warnTableRules,
  });
  const rules = ruleCount(document);
  return {
    ...{ name: 'rules.json', content: text, hash, findings, countsText: `${rules} rules, ` },
    milliseconds: elapsedTimes(startedAt, compiledAt),
    extraFields: { rules, ...(snapshot.guarantees && { guarantees: verdicts.map(verdictForm) }) },
  } satisfies Artefact;
}

function bundleArtefact(snapshot: Snapshot, { signingKey, maxBytes }: Options): Artefact {
  if (maxBytes !== undefined) throw new UnusableInput(['--max-bytes is a limit of rules.json, and a bundle has none']);
  const pem = signingKey === undefined ? null : readBytes(signingKey).toString();
  if (pem !== null && !isSigningKey(pem))
    throw new UnusableInput([`${signingKey}: no private key in PEM: RSA of 2,048 bits at least, or P-256`]);
  const startedAt = performance.now();
  const bundleText = dataText(bundleData(snapshot));
  const hash = createHash('sha256').update(bundleText).digest('hex');
  // Publications are numbered from 1, so version 0 marks a bundle that was not published.
  const revision = `v0-${hash.slice(0, 12)}`;
  const content = bundleArchive(bundleText, revision, pem === null ? null : createPrivateKey(pem));
  const compiledAt = performance.now();
  const { findings, verdicts } = judgeBundle(bundleText, snapshot);
  return {
    ...{ name: 'grantline.tar.gz', content, hash, findings, countsText: `revision ${revision}, ` },
    ...{
      milliseconds: elapsedTimes(startedAt, compiledAt),
      extraFields: { revision, ...(snapshot.guarantees && { guarantees: verdicts.map(verdictForm) }) },
    },
  };
}

function elapsedTimes(startedAt: number, compiledAt: number): Artefact['milliseconds'] {
  return { compile: Math.round(compiledAt - startedAt), check: Math.round(performance.now() - compiledAt) };
}
