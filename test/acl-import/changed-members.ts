import { readForeignRulesFile } from '../../src/commands/foreign-rules-file.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { conjuncts } from '../../src/trino-rules/engine/schema-tables.js';
import { Evaluator } from '../../src/trino-rules/engine/evaluator.js';
import { WorkBudget } from '../../src/trino-rules/document/work-budget.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { newPatternCache, SingleUserAudiences, type ListedUser } from '../../src/rules-files/foreign/audiences.js';
import { foreignDocument } from '../../src/rules-files/foreign/foreign-document.js';
import type { ImportFinding } from '../../src/rules-files/import/import-finding.js';
import { byEvaluator } from '../support/rules/by-evaluator.js';
import { MetadataVisibility } from '../support/rules/metadata-visibility.js';
import { canonical, isAboutBuiltin } from './engine-agreement.js';
import { everyQuestion, isRestriction, isSetting, type KeptQuestion, wordsFor } from './kept-agreement.js';
import { importCase, type KeptCase } from './published-cases.js';

export interface ChangedAnswer {
  /** With the groups after the change. */
  question: KeptQuestion;
  /** By the file, of a user of exactly these groups. */
  before: string;
  /** By the import, of a user who is put into these groups, or left in them. */
  after: string;
}

export interface MembershipChanges {
  asked: number;
  /** Answers about whom a finding says that. */
  remarked: number;
  more: ChangedAnswer[];
  /** What a member who is alike in the file's eyes keeps, and a joiner does not get, or a leaver. */
  less: ChangedAnswer[];
}

const JOINER = 'Zz Joiner';

/**
 * Puts a new user into each combination of groups that the list has, into each group alone and into none, into two to four groups
 * that nobody has together, and takes each user out of each group where others are of what is left; and asks by the file and by the import.
 */
export async function membershipChanges(
  kept: Pick<KeptCase, 'users' | 'rules' | 'catalog'>,
): Promise<MembershipChanges> {
  const [{ snapshot, users, findings }, file] = [
    await importCase(kept),
    await readForeignRulesFile(Buffer.from(kept.rules)),
  ];
  if (file.kind === 'refused') throw new Error(JSON.stringify(file.problems));
  const words = wordsFor(
    file.text,
    users.map(({ name }) => name),
    MAX_NAMES,
  );
  const patterns = newPatternCache(new WorkBudget(Infinity));
  const byFile = ({ name, groups }: ListedUser) => {
    const asked = new SingleUserAudiences(name, groups, patterns);
    return answering(new Evaluator(foreignDocument(file.rules, asked, ({ text }) => text).document, patterns));
  };
  const byImport = (changed: readonly ListedUser[]) =>
    answering(new Evaluator(compile(withMembers(snapshot, changed, renamed)).document, patterns));
  const renamed = new Map(
    findings.flatMap(({ code, what }) =>
      code === 'import-group-renamed' ? what.map((each) => each.split(' as ')) : [],
    ) as [string, string][],
  );
  const combinations = new Map(users.map(({ groups }) => [keyOf(groups), [...groups]]));
  const isListed = new Set(combinations.keys());
  for (const groups of [[], ...users.flatMap((user) => user.groups.map((group) => [group]))])
    combinations.set(keyOf(groups), groups);
  for (const groups of together([...new Set(users.flatMap((user) => user.groups))]))
    combinations.set(keyOf(groups), groups);
  // A digit at the end would match `.*0`.
  const joiners = [...combinations.values()].map((groups, i) => ({ name: `${JOINER} ${'z'.repeat(i + 1)}`, groups }));
  const leavers = users.flatMap((user) =>
    user.groups.map((left) => ({ ...user, groups: user.groups.filter((group) => group !== left) })),
  );
  const [listed, joined] = [byImport([]), byImport(joiners)];
  const found: MembershipChanges = { asked: 0, remarked: 0, more: [], less: [] };
  for (const changed of [...joiners, ...leavers.filter(({ groups }) => combinations.has(keyOf(groups)))]) {
    const isJoiner = joiners.includes(changed);
    const isRemarked = (as: ImportFinding['code'], name: string): boolean =>
      findings.some(({ code, people }) => code === as && people.includes(name));
    const [given, next] = [byFile(changed), isJoiner ? joined : byImport([changed])];
    const alike = users.find(({ groups }) => keyOf(groups) === keyOf(changed.groups));
    const ofAlike = alike && byFile(alike);
    const execution = { ask: 'execute-query', user: changed.name, groups: changed.groups } as const;
    const executes = given(execution) === 'true';
    const tell = (answer: ChangedAnswer): void => {
      if (isRemarked('import-leavers', changed.name) || isRemarked('import-joiners', changed.name)) found.remarked += 1;
      else found.more.push(answer);
    };
    for (const question of everyQuestion(changed, words)) {
      if (isSetting(question) || isAboutBuiltin(question) || question.ask === 'catalog') continue;
      if ('name' in question && !('catalog' in question) && question.name === alike?.name) continue;
      found.asked += 1;
      const [before, after] = [given(question), next(question)];
      if (before === after) continue;
      const answer = { question, before, after };
      if (isRestriction(question)) {
        const columns = 'name' in question ? [question.name] : [];
        const select = { ...question, ask: 'select', columns } as const;
        const isRestricted = 'name' in question ? before !== 'null' : !isAmong(before, after);
        // A restriction of what may not be read is none, nor a mask of a hidden column; where the file has none, there is one more.
        if (isRestricted && next(select) === 'true' && next(execution) === 'true') tell(answer);
      } else if (after === 'true') {
        tell(answer);
      } else if (
        executes &&
        // Only programs of the list act as others.
        question.ask !== 'impersonate' &&
        // Listings of the engine itself are left out of groups without a remark.
        !('catalog' in question && question.catalog === 'system') &&
        (isJoiner || question.ask !== 'execute-query') &&
        alike !== undefined &&
        isListed.has(keyOf(changed.groups))
      ) {
        const same = { ...question, user: alike.name };
        if (ofAlike?.(same) !== before || listed(same) !== before) continue;
        if (isRemarked('import-joiners', alike.name) || isRemarked('import-lost', changed.name)) found.remarked += 1;
        else found.less.push(answer);
      }
    }
  }
  return found;
}

const MAX_NAMES = 8;
const MAX_COMBINATIONS = 40;
const LARGEST_COMBINATION = 4;

/** Pairs, triples and all larger combinations: of each size so many, from everywhere. */
function together(groups: readonly string[]): string[][] {
  let smaller = groups.map((group) => [group]);
  const found: string[][] = [];
  for (let size = 2; size <= groups.length && size <= LARGEST_COMBINATION; size += 1) {
    const all = smaller.flatMap((each) =>
      groups.slice(groups.indexOf(each.at(-1) ?? '') + 1).map((other) => [...each, other]),
    );
    const step = Math.ceil(all.length / MAX_COMBINATIONS);
    found.push(...all.filter((_, i) => i % step === 0));
    smaller = all;
  }
  return found;
}

/** Whether the first filter holds where the second does. */
function isAmong(filter: string, other: string): boolean {
  const parts = (text: string): string[] =>
    (JSON.parse(text) as string[]).flatMap(conjuncts).map((each) => canonical(each));
  const held = new Set(parts(other));
  return parts(filter).every((each) => held.has(each) || each === 'true');
}

function answering(evaluator: Evaluator): (question: KeptQuestion) => string {
  const listings = new MetadataVisibility(evaluator);
  return (question) => canonical(byEvaluator(evaluator, listings, question));
}

function keyOf(groups: readonly string[]): string {
  return JSON.stringify([...new Set(groups)].sort());
}

/** With these users in the groups of these names alone, which is a new account where there is none. */
export function withMembers(
  snapshot: Snapshot,
  changed: readonly ListedUser[],
  renamed: ReadonlyMap<string, string>,
): Snapshot {
  const users = [...snapshot.users];
  // The import makes programs of some names of the list.
  const programs = new Set([
    ...snapshot.groups.flatMap(({ engines }) => engines),
    ...[...snapshot.grants, ...snapshot.policies].flatMap(({ principal }) =>
      principal.type === 'engine' ? [principal.name] : [],
    ),
  ]);
  for (const { name, isEngine = programs.has(name) } of changed)
    if (!isEngine && !users.some((user) => user.name === name))
      users.push({ id: users.length + 1, name, isActive: true });
  const idOf = new Map(users.map(({ id, name }) => [name, id]));
  const isOfList = (name: string): boolean => !/^imported-\d+$/.test(name) || [...renamed.values()].includes(name);
  const groups = snapshot.groups.map((group) => {
    if (!isOfList(group.name)) return group;
    const members = new Set(group.members);
    const engines = new Set(group.engines);
    for (const { name, groups, isEngine = programs.has(name) } of changed) {
      const [all, member] = isEngine
        ? [engines as Set<string | number>, name]
        : [members as Set<string | number>, idOf.get(name) ?? 0];
      if (groups.some((each) => (renamed.get(each) ?? each) === group.name)) all.add(member);
      else all.delete(member);
    }
    return { ...group, members: [...members], engines: [...engines] };
  });
  return { ...snapshot, users, groups };
}
