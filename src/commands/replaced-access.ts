import { isWithoutEffect } from '../rules-files/import/without-effect.js';
import { diffForeign, type ForeignDiff } from '../rules-files/foreign/foreign-diff.js';
import { recordedUsers } from '../rules-files/foreign/audiences.js';
import { accessDiffForm, accessDiffLines } from '../trino-rules/diff/access-diff-form.js';
import { BudgetExceeded, WorkBudget } from '../trino-rules/document/work-budget.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { readForeignRulesFile } from './foreign-rules-file.js';

/** Some seconds. */
const STEPS_AT_LEAST = 1_000_000_000;
const STEPS_PER_CHARACTER = 1_000;

type Access = Extract<ForeignDiff, { kind: 'compared' }>['access'];

/**
 * What the accounts gain and lose where rules that Grantline did not write are replaced; `unknown`: why that cannot be told. `idle`:
 * accounts whose access before and after is at most to execute queries and to enter catalogs.
 */
export type ReplacedAccess =
  | { kind: 'compared'; people: number; access: Access; idle: string[] }
  | { kind: 'unknown'; why: string };

/** Compares them for the active accounts, each in the groups that are recorded: these stand for the groups that the engine gives. */
export async function replacedAccess(live: string, next: string, snapshot: Snapshot): Promise<ReplacedAccess> {
  const [before, after] = [
    await readForeignRulesFile(Buffer.from(live)),
    await readForeignRulesFile(Buffer.from(next)),
  ];
  if (before.kind === 'refused' || after.kind === 'refused') {
    return { kind: 'unknown', why: 'the engine does not load the live rules' };
  }
  const people = recordedUsers(snapshot);
  try {
    const budget = new WorkBudget(STEPS_AT_LEAST + STEPS_PER_CHARACTER * (live.length + next.length));
    const compared = diffForeign(before.rules, after.rules, people, budget);
    if (compared.kind === 'compared') return { kind: 'compared', people: people.length, ...counted(compared.access) };
    return { kind: 'unknown', why: `a live rule cannot be compared: ${compared.problems[0]?.message ?? ''}` };
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    return { kind: 'unknown', why: 'the rules combine more names and users than can be compared' };
  }
}

/** Without what permits no statement by itself. */
function counted({ gained, lost }: Access): { access: Access; idle: string[] } {
  const effective = (list: Access['lost']) => list.filter(({ fact }) => !isWithoutEffect(fact));
  const all = { gained: effective(gained), lost: effective(lost) };
  const named = [...all.gained, ...all.lost];
  const busy = new Set(named.flatMap(({ fact, people }) => (isEntry(fact) ? [] : people)));
  const ofBusy = (list: Access['lost']) =>
    list
      .map((each) => ({ ...each, people: each.people.filter((name) => busy.has(name)) }))
      .filter(({ people }) => people.length > 0);
  const idle = new Set(named.flatMap(({ people }) => people.filter((name) => !busy.has(name))));
  return { access: { gained: ofBusy(all.gained), lost: ofBusy(all.lost) }, idle: [...idle].sort() };
}

/** To execute queries and to enter catalogs serves nobody who may do nothing in them. */
function isEntry(fact: Access['lost'][number]['fact']): boolean {
  return fact.about === 'catalog-mode' || (fact.about === 'queries' && fact.right === 'execute');
}

/** Lines for a terminal. */
export function replacedLines(replaced: ReplacedAccess): string[] {
  if (replaced.kind === 'unknown') return [`who gains or loses access is not told: ${replaced.why}`];
  const { people, access, idle } = replaced;
  const among = `of the ${people} accounts, in the groups that are recorded here`;
  const lines = accessDiffLines(access);
  const noted = idle.length === 0 ? [] : [`without access to any data, before and after: ${idle.join(', ')}`];
  const told = lines.length === 0 ? [`nobody gains or loses anything, ${among}`] : [`gained and lost, ${among}:`];
  return [...told, ...lines, ...noted];
}

/** For `--json`. */
export function replacedForm(replaced: ReplacedAccess): object {
  if (replaced.kind === 'unknown') return { unknown: replaced.why };
  return { ...accessDiffForm(replaced.access), idle: replaced.idle };
}
