import fc from 'fast-check';
import type { Snapshot, SnapshotGrant } from '../../../src/trino-rules/model/snapshot.js';
import { IntentAnswers } from '../../support/opa/answer-by-intent.js';
import { drawQuestion, type PluginQuestion } from '../../support/opa/plugin-question.js';
import { anySnapshot } from '../../support/snapshots/any-snapshot.js';
import { Chance } from '../../support/snapshots/chance.js';
import { wordsOf } from '../../support/snapshots/snapshot-words.js';

const HOUR = 3_600_000;

/** A random snapshot as it was an hour ago, with questions and the answers of the intent now. */
export interface World {
  made: Snapshot;
  asked: { question: PluginQuestion; answer: unknown }[];
}

/** @param questions how many are drawn for each; those that are never asked in earnest are left out */
export function* worlds(count: number, questions: number, seed: number): Iterable<World> {
  for (const [number, drawn] of fc.sample(anySnapshot(), { numRuns: count, seed }).entries()) {
    const now = Date.now();
    const grants = drawn.grants.map((grant) => lapsing(grant, drawn.at, now));
    const snapshot = { ...drawn, grants, at: new Date(now) };
    const words = wordsOf(snapshot);
    const chance = new Chance(seed * 100_000 + number);
    const answers = new IntentAnswers(snapshot);
    const asked = Array.from({ length: questions }, () => drawQuestion(words, chance))
      .map((question) => ({ question, answer: answers.answer(question) }))
      .filter(({ answer }) => answer !== undefined);
    yield { made: { ...snapshot, at: new Date(now - HOUR) }, asked };
  }
}

/** Moves the ends of a grant: before the bundle was made, since then, or later. */
function lapsing(grant: SnapshotGrant, at: Date, now: number): SnapshotGrant {
  const long = new Date(now - 2 * HOUR);
  const { id, expiresAt, revokedAt } = grant;
  const end = expiresAt === null ? null : expiresAt <= at ? long : new Date(now + (id % 2 === 0 ? HOUR : -HOUR / 2));
  return { ...grant, expiresAt: end, revokedAt: revokedAt && long };
}

/** Answers of sets come in any order. */
export function canonical(answer: unknown): string {
  return JSON.stringify(Array.isArray(answer) ? answer.map((each) => JSON.stringify(each)).sort() : answer);
}
