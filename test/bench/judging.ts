import { checkBudget } from '../../src/acl-sync/proof/check.js';
import { deadRules } from '../../src/acl-sync/proof/dead-rules.js';
import { EngineSets } from '../../src/acl-sync/proof/engine-sets.js';
import type { Finding } from '../../src/acl-sync/rules/finding.js';
import { checkInvariants } from '../../src/acl-sync/proof/invariants.js';
import { PatternCache } from '../../src/acl-sync/rules/pattern-cache.js';
import { UserUniverse } from '../../src/acl-sync/proof/user-universe.js';
import { prove } from '../../src/acl-sync/proof/proof.js';
import type { RulesDocument } from '../../src/acl-sync/rules/rules-document.js';
import { Roster } from '../../src/acl-sync/proof/roster.js';
import { readRules } from '../../src/acl-sync/rules/rules-reader.js';
import type { Snapshot } from '../../src/grants/domain/snapshot.js';

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
  if (reading.kind === 'refused') throw new Error(told(reading.findings));
  const rules = reading.document;
  const budget = checkBudget(text, snapshot);
  const patterns = new PatternCache(budget);
  const [[engine, proof], proveMs] = timed(() => {
    const roster = new Roster(snapshot);
    const known = roster.list.map(({ name }) => name);
    const engine = new EngineSets(rules, patterns, new UserUniverse(known, [rules], budget));
    return [engine, prove(engine, snapshot, roster)] as const;
  });
  const [dead, deadMs] = timed(() => deadRules(rules, engine.people, patterns, 'error'));
  const findings = [...checkInvariants(engine, snapshot.settings), ...proof, ...dead];
  if (findings.length > 0) throw new Error(told(findings));
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

function told(findings: readonly Finding[]): string {
  return findings.map(({ code, message }) => `${code}: ${message}`).join('\n');
}
