import type { Finding } from '../document/finding.js';
import { readRules } from '../document/rules-reader.js';
import { WorkBudget } from '../document/work-budget.js';
import { checkInvariants } from '../lint/invariants.js';
import { checkMarker } from '../lint/marker-check.js';
import { unreachableRules } from '../lint/unreachable-rules.js';
import { nodeKey } from '../model/node.js';
import type { Snapshot } from '../model/snapshot.js';
import { prove, withEngine } from './proof.js';

/** What a text of up to one mebibyte may cost: some seconds. Larger ones, which only targets without a limit hold, in proportion. */
const STEPS_PER_MEBIBYTE = 150_000_000;
const MEBIBYTE = 1_048_576;
/** At one node, for one thing that people are given or that restricts them: to keep and compare it, and for every 32 users. */
const STEPS_PER_THING = 800;
const STEPS_PER_WORD = 12;
/** Of a user whose queries something is said about: their rules grow with owners and holders. */
const STEPS_PER_OWNER = 1_000;

/**
 * Everything that must hold before rules are published, judged on their text, in this order: the strict reader, complete
 * patterns, the marker, the invariants, the proof against the snapshot, no dead rules. A finding of
 * severity `error` stops the publication. Size is the target's business: see `target-capacity.ts`.
 */
export function checkRules(source: string | Uint8Array, snapshot: Snapshot): Finding[] {
  const reading = readRules(source);
  if (reading.kind === 'refused') return reading.findings;
  const { settings } = snapshot;
  const text = typeof source === 'string' ? source : new TextDecoder().decode(source);
  return withEngine(reading.document, snapshot, checkBudget(text, snapshot), (engine, _, principals) => [
    ...checkMarker(text, engine.rules, settings.ownAccount, engine.people),
    ...checkInvariants(engine, settings),
    ...prove(engine, snapshot, principals),
    ...unreachableRules(engine.rules, engine.people, engine.patterns),
  ]);
}

/** What the check of a text may cost, for a snapshot. */
export function checkBudget(text: string, snapshot: Snapshot): WorkBudget {
  return new WorkBudget(STEPS_PER_MEBIBYTE * Math.max(1, text.length / MEBIBYTE) + stepsFor(snapshot));
}

/** The work of the snapshot alone: all users at each node that it names, with each of its policies, and as owners of queries. */
function stepsFor({ users, grants, policies }: Snapshot): number {
  const named = [...grants, ...policies].map(({ resource }) => nodeKey(resource));
  const each = STEPS_PER_THING + STEPS_PER_WORD * (users.length / 32 + 1);
  const ofQueries = [...grants, ...policies].filter(({ resource }) => resource.queries !== undefined);
  return each * new Set(named).size * (policies.length + 1) + STEPS_PER_OWNER * users.length * ofQueries.length;
}
