import type { Finding } from '../../src/trino-rules/document/finding.js';
import { PatternCache } from '../../src/trino-rules/document/pattern-cache.js';
import type { RulesDocument } from '../../src/trino-rules/document/rules-document.js';
import { readRules } from '../../src/trino-rules/document/rules-reader.js';
import { EngineSets } from '../../src/trino-rules/engine/engine-sets.js';
import { UserUniverse } from '../../src/trino-rules/engine/user-universe.js';
import { checkInvariants } from '../../src/trino-rules/lint/invariants.js';
import { unreachableRules } from '../../src/trino-rules/lint/unreachable-rules.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { checkBudget } from '../../src/trino-rules/verify/check.js';
import { prove } from '../../src/trino-rules/verify/proof.js';
import { PrincipalIndex } from '../../src/trino-rules/verify/principal-index.js';

/** How long each check took: see `cpuMs`. */
export interface Judged {
  rules: RulesDocument;
  engine: EngineSets;
  readMs: number;
  proveMs: number;
  deadMs: number;
}

/** What `checkRules` does, with a clock in hand. @throws Error unless the rules are right, and within its budget: there is no use in timing others */
export function judge(text: string, snapshot: Snapshot): Judged {
  const [reading, readMs] = timed(() => readRules(text));
  if (reading.kind === 'refused') throw new Error(textOf(reading.findings));
  const rules = reading.document;
  const budget = checkBudget(text, snapshot);
  const patterns = new PatternCache(budget);
  const [[engine, proof], proveMs] = timed(() => {
    const principals = new PrincipalIndex(snapshot);
    const known = principals.subjects.map(({ name }) => name);
    const engine = new EngineSets(rules, patterns, new UserUniverse(known, [rules], patterns));
    return [engine, prove(engine, snapshot, principals)] as const;
  });
  const [dead, deadMs] = timed(() => unreachableRules(rules, engine.universe, patterns));
  const findings = [...checkInvariants(engine, snapshot.settings), ...proof, ...dead];
  if (findings.length > 0) throw new Error(textOf(findings));
  return { rules, engine, readMs, proveMs, deadMs };
}

function timed<T>(work: () => T): [T, number] {
  const began = cpuMs();
  const result = work();
  return [result, cpuMs() - began];
}

/** Milliseconds of CPU time of this process, its collector's threads included: a machine has other things to do as well. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function textOf(findings: readonly Finding[]): string {
  return findings.map(({ code, message }) => `${code}: ${message}`).join('\n');
}
