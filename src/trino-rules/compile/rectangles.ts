import { Bitset, bitCount } from './bitset.js';
import { getOrInsert } from './get-or-insert.js';

/** One of the nodes under one parent, such as a table of a schema. @typeParam Effect what a rule gives its users, such as privileges */
export interface Sibling<Effect> {
  name: string;
  /** The users of the node by the effect of their rules. No user is in the `allowedUsers` of two effects. */
  effectUsers: readonly EffectUsers<Effect>[];
  /** All users with access to the node. A rule that denies the node to all users must come after the rules that decide for these users. */
  holders: Bitset;
}

export interface EffectUsers<Effect> {
  effect: Effect;
  /** Higher for more access, 0 for no access. Rules with a higher rank come first. */
  rank: number;
  /** Users whose effect at the parent node differs, so that this node needs a rule for them. */
  requiredUsers: Bitset;
  /** Users whom a rule with `effect` may match: `requiredUsers`, and users who have this effect at the parent node. */
  allowedUsers: Bitset;
}

/** The denial at a node for `users`, to whom a rule for the parent node could give access. @param effect an effect that gives nothing */
export function denialUsers<Effect>(effect: Effect, users: Bitset): EffectUsers<Effect> {
  return { effect, rank: 0, requiredUsers: users, allowedUsers: users };
}

/** A rule to be written: these users get this effect on the nodes with these names. */
export interface Rectangle<Effect> {
  effect: Effect;
  /** The users of the rule; null: all users, which is only possible for a denial. */
  people: Bitset | null;
  names: string[];
}

/** The bytes of the parts of a rule, as in `Costs`, except that the fixed bytes (`rule`) depend on the effect of the rule. */
type CostOf<Effect> = Omit<Costs, 'rule'> & { rule(effect: Effect): number };

/** Finds few rules that give each user the right effect at each node. Each rule is a rectangle: users × nodes under one parent. Rules with more access come first, denials last. */
export function rectangles<O>(siblings: readonly Sibling<O>[], cost: CostOf<O>): Rectangle<O>[] {
  const decidedUsers = new Map<Sibling<O>, Bitset>();
  return rowsByEffect(siblings).flatMap(({ effect, rank, rows }) => {
    const isClosedToAll = ({ sibling }: SiblingRow<O>) =>
      rank === 0 && (sibling.holders.isEmpty() || decidedUsers.get(sibling)?.contains(sibling.holders) === true);
    const closedNames = rows.filter(isClosedToAll).map(({ sibling }) => sibling.name);
    const openRows = rows.filter((row) => !isClosedToAll(row));
    const usersByRow = openRows.map(({ sibling, requiredUsers, allowedUsers }) => ({
      ...{ requiredUsers, allowedUsers: () => decidedUsers.get(sibling)?.or(allowedUsers) ?? allowedUsers },
    }));
    const coverRules = cover(usersByRow, { ...cost, rule: cost.rule(effect) }).flatMap(
      ({ people, rows: coveredRows }) => {
        const coveredSiblings = coveredRows.flatMap((row) => openRows[row]?.sibling ?? []);
        // Leaves out a rule if earlier rules decide for all of its users at all of its nodes.
        if (coveredSiblings.every((sibling) => decidedUsers.get(sibling)?.contains(people))) return [];
        for (const each of coveredSiblings) decidedUsers.set(each, decidedUsers.get(each)?.or(people) ?? people);
        return [{ effect, people, names: coveredSiblings.map(({ name }) => name) }];
      },
    );
    return closedNames.length > 0 ? [...coverRules, { effect, people: null, names: closedNames }] : coverRules;
  });
}

type SiblingRow<O> = Pick<EffectUsers<O>, 'requiredUsers' | 'allowedUsers'> & { sibling: Sibling<O> };

function rowsByEffect<O>(siblings: readonly Sibling<O>[]): { effect: O; rank: number; rows: SiblingRow<O>[] }[] {
  const rowsByKey = new Map<string, { effect: O; rank: number; rows: SiblingRow<O>[]; key: string }>();
  const effectKeys = new Map<O, string>();
  for (const sibling of siblings) {
    for (const { effect, rank, ...users } of sibling.effectUsers) {
      if (users.requiredUsers.isEmpty()) continue;
      const key = getOrInsert(effectKeys, effect, () => JSON.stringify(effect));
      getOrInsert(rowsByKey, key, () => ({ effect, rank, rows: [], key })).rows.push({ sibling, ...users });
    }
  }
  return [...rowsByKey.values()].sort(
    (a, b) => b.rank - a.rank || b.key.length - a.key.length || (a.key < b.key ? -1 : 1),
  );
}

/** For one object, such as a table: the users whom rules must match, and the users whom rules may match without changing their access. */
interface RowUsers {
  requiredUsers: Bitset;
  allowedUsers: () => Bitset;
}

interface CoverRectangle {
  people: Bitset;
  rows: readonly number[];
}

/**
 * Rectangles (a set of people × a set of rows) that together contain each row's `requiredUsers`, and nobody outside of its `allowedUsers`.
 * The search merges rectangles as long as this saves bytes. It is greedy, because the optimum is NP-hard.
 */
function cover(usersByRow: readonly RowUsers[], cost: Costs): CoverRectangle[] {
  const userCount = usersByRow[0]?.requiredUsers.size ?? 0;
  const requiredSets = usersByRow.map(({ requiredUsers }) => requiredUsers);
  const allPeople = requiredSets.reduce((all, set) => all.or(set), Bitset.of(userCount, []));
  if (requiredSets.every((set) => set.contains(allPeople)))
    return [{ people: allPeople, rows: [...usersByRow.keys()] }];
  const classes = classesOf(usersByRow, allPeople);
  const weights = new Weights(classes.map(({ people }) => people.length * cost.person));
  const rowDrafts = draftsOfRows(usersByRow, classes);
  // The search starts from `rowDrafts`. If there are fewer classes (people whom rules treat alike), a second search starts from a rule for each class.
  const startingDrafts = classes.length < rowDrafts.length ? [rowDrafts, draftsOfClasses(classes)] : [rowDrafts];
  const candidateCovers = startingDrafts.map((drafts) =>
    dividedDrafts(drafts).flatMap((dividedPart) => factorOut(dividedPart, weights, cost)),
  );
  const bytesOf = (drafts: readonly Draft[]) =>
    drafts.reduce(
      (sum, draft) => sum + cost.rule + cost.sibling * draft.rows.count() + weights.weightOf(draft.classes),
      0,
    );
  const shortestCover = candidateCovers.reduce((a, b) => (bytesOf(b) < bytesOf(a) ? b : a));
  return shortestCover.map(({ classes: classSet, rows }) => {
    const people = classSet.members().flatMap((each) => classes[each]?.people ?? []);
    return { people: Bitset.of(userCount, people), rows: rows.members() };
  });
}

/** The most drafts of rules that are combined with each other. The work is cubic in the number of drafts, so a longer list is divided. */
const MAX_DRAFTS_TOGETHER = 512;

function dividedDrafts(drafts: readonly Draft[]): Draft[][] {
  if (drafts.length <= MAX_DRAFTS_TOGETHER) return [[...drafts]];
  const keyedDrafts = drafts.map((draft) => ({ draft, key: draft.classes.key() }));
  const sortedDrafts = keyedDrafts.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ draft }) => draft);
  return Array.from({ length: Math.ceil(drafts.length / MAX_DRAFTS_TOGETHER) }, (_, i) =>
    sortedDrafts.slice(i * MAX_DRAFTS_TOGETHER, (i + 1) * MAX_DRAFTS_TOGETHER),
  );
}

/** People whom rules treat alike. `requiredRows`: objects whose rules must match these people. `allowedRows`: objects whose rules may. */
interface PeopleClass {
  people: number[];
  requiredRows: Bitset;
  allowedRows: Bitset;
}

/** Classes of people with equal `requiredRows` and `allowedRows`. Sorted by size, which makes `Weights` faster. */
function classesOf(usersByRow: readonly RowUsers[], allPeople: Bitset): PeopleClass[] {
  const allowedRowsByPerson = setIndexesByMember(usersByRow.map((rowUsers) => rowUsers.allowedUsers().and(allPeople)));
  const classes = new Map<string, PeopleClass>();
  for (const [person, rows] of setIndexesByMember(usersByRow.map(({ requiredUsers }) => requiredUsers))) {
    const allowedRows = Bitset.of(usersByRow.length, allowedRowsByPerson.get(person) ?? []);
    const peopleClass = { people: [], requiredRows: Bitset.of(usersByRow.length, rows), allowedRows };
    const key = peopleClass.requiredRows.key() + peopleClass.allowedRows.key();
    getOrInsert(classes, key, () => peopleClass).people.push(person);
  }
  return [...classes.values()].sort((a, b) => b.people.length - a.people.length);
}

function setIndexesByMember(sets: readonly Bitset[]): Map<number, number[]> {
  const indexesByMember = new Map<number, number[]>();
  sets.forEach((set, index) => {
    set.forEach((member) => {
      getOrInsert(indexesByMember, member, () => []).push(index);
    });
  });
  return indexesByMember;
}

/** Makes one draft (possible rule) for all rows (objects such as tables) with the same classes of people. */
function draftsOfRows(usersByRow: readonly RowUsers[], classes: readonly PeopleClass[]): Draft[] {
  const requiredByRow = setIndexesByMember(classes.map((each) => each.requiredRows));
  const allowedByRow = setIndexesByMember(classes.map((each) => each.allowedRows));
  const setOf = (classIndexes: readonly number[] | undefined): Bitset => Bitset.of(classes.length, classIndexes ?? []);
  const draftsByPeople = new Map<string, { classes: Bitset; allowedClasses: Bitset; rows: number[] }>();
  usersByRow.forEach((_, row) => {
    const draft = { classes: setOf(requiredByRow.get(row)), allowedClasses: setOf(allowedByRow.get(row)), rows: [] };
    getOrInsert(draftsByPeople, draft.classes.key() + draft.allowedClasses.key(), () => draft).rows.push(row);
  });
  return [...draftsByPeople.values()].map((draft) => ({ ...draft, rows: Bitset.of(usersByRow.length, draft.rows) }));
}

function draftsOfClasses(classes: readonly PeopleClass[]): Draft[] {
  return classes.map(({ requiredRows: rows }, i) => {
    const allowedClasses = classes.flatMap(({ allowedRows }, index) => (allowedRows.contains(rows) ? [index] : []));
    return { classes: Bitset.of(classes.length, [i]), rows, allowedClasses: Bitset.of(classes.length, allowedClasses) };
  });
}

/** Bytes in the text of a rule: without names (`rule`), for each person, and for each table or other object (`sibling`). */
interface Costs {
  rule: number;
  person: number;
  sibling: number;
}

/** A possible rule. It matches rows (objects) and classes (sets of people whom the rules treat alike). */
export interface Draft {
  classes: Bitset;
  rows: Bitset;
  /** `classes`, and other classes that the rule may match, because it would not change their access. */
  allowedClasses: Bitset;
}

/** A possible rule (`draft`). A common rule with `partner` saves the most bytes; null: no common rule saves any. */
interface DraftEntry {
  draft: Draft;
  nameBytes: number;
  rowCount: number;
  isLive: boolean;
  partner: DraftEntry | null;
  /** Bytes saved by a common rule for the people in both `draft` and `partner`. Only an upper limit if `partner.isLive` is false. */
  gain: number;
}

/** The work steps of a search for each initial draft (possible rule). A time limit could give different rules for equal snapshots. */
const COST_PER_DRAFT = 20_000;

export function factorOut(
  initialDrafts: readonly Draft[],
  weights: Weights,
  cost: Costs,
  stepsPerDraft = COST_PER_DRAFT,
): Draft[] {
  const factoring = new DraftFactoring(weights, cost, initialDrafts.length * stepsPerDraft);
  for (const draft of initialDrafts) factoring.add(draft);
  for (let pair = factoring.bestPair(); pair; pair = factoring.bestPair()) factoring.factorOutCommon(...pair);
  return factoring.drafts();
}

class DraftFactoring {
  private draftEntries: DraftEntry[] = [];
  private liveDraftCount = 0;

  constructor(
    private readonly weights: Weights,
    private readonly cost: Costs,
    private workStepsLeft: number,
  ) {}

  add(draft: Draft): void {
    const nameBytes = this.weights.weightOf(draft.classes);
    const entry = { draft, nameBytes, rowCount: draft.rows.count(), isLive: true, partner: null, gain: 0 };
    this.findPartner(entry);
    this.draftEntries.push(entry);
    this.liveDraftCount++;
  }

  drafts(): Draft[] {
    return this.draftEntries.flatMap(({ isLive, draft }) => (isLive ? [draft] : []));
  }

  /** The two drafts (possible rules) whose common part saves most bytes. Null: no two drafts save bytes, or the work limit is reached. */
  bestPair(): [DraftEntry, DraftEntry] | null {
    while (this.workStepsLeft > 0) {
      let bestEntry: DraftEntry | null = null;
      for (const entry of this.draftEntries) if (entry.isLive && entry.gain > (bestEntry?.gain ?? 0)) bestEntry = entry;
      this.workStepsLeft -= this.draftEntries.length;
      if (!bestEntry?.partner) return null;
      if (bestEntry.partner.isLive) return [bestEntry, bestEntry.partner];
      this.findPartner(bestEntry);
    }
    return null;
  }

  factorOutCommon(a: DraftEntry, b: DraftEntry): void {
    const commonPart = commonDraft(a.draft, b.draft);
    for (const entry of [a, b]) entry.isLive = false;
    this.liveDraftCount -= 2;
    if (this.draftEntries.length > 2 * this.liveDraftCount)
      this.draftEntries = this.draftEntries.filter(({ isLive }) => isLive);
    const remainders = [a, b].map(({ draft }) => ({ ...draft, classes: draft.classes.minus(commonPart.classes) }));
    for (const draft of [commonPart, ...remainders]) if (!draft.classes.isEmpty()) this.add(draft);
  }

  private findPartner(entry: DraftEntry): void {
    entry.partner = null;
    entry.gain = 0;
    for (const other of this.draftEntries) {
      if (!other.isLive || other === entry) continue;
      // An upper bound of the gain that is cheap to compute: at best, the smaller of the two drafts (possible rules) becomes unnecessary.
      const maxGain =
        Math.min(entry.nameBytes, other.nameBytes) + this.ruleBytes(Math.min(entry.rowCount, other.rowCount));
      if (maxGain <= entry.gain) continue;
      const gain = this.gain(entry, other);
      if (gain <= entry.gain) continue;
      entry.partner = other;
      entry.gain = gain;
    }
    this.workStepsLeft -= this.draftEntries.length;
  }

  /** The bytes that a common rule for the people in both drafts (candidate rules) would save. */
  private gain(a: DraftEntry, b: DraftEntry): number {
    const nameBytes = this.weights.weightOfIntersection(a.draft.classes, b.draft.classes);
    this.workStepsLeft -= this.weights.wordCount;
    const savedRuleBytes = this.savedBytes(a, b, nameBytes) + this.savedBytes(b, a, nameBytes);
    if (nameBytes === 0 && savedRuleBytes === 0) return 0;
    return nameBytes + savedRuleBytes - this.ruleBytes(a.draft.rows.unionCount(b.draft.rows));
  }

  private savedBytes(one: DraftEntry, other: DraftEntry, intersectionWeight: number): number {
    const isReplaced = intersectionWeight === one.nameBytes || other.draft.allowedClasses.contains(one.draft.classes);
    return isReplaced ? this.ruleBytes(one.rowCount) : 0;
  }

  private ruleBytes(rows: number): number {
    return this.cost.rule + this.cost.sibling * rows;
  }
}

function commonDraft(a: Draft, b: Draft): Draft {
  const allowedClasses = a.allowedClasses.and(b.allowedClasses);
  return { classes: a.classes.or(b.classes).and(allowedClasses), rows: a.rows.or(b.rows), allowedClasses };
}

/** Sums up the weights (bytes of names) of the members of a bit set. A word of 32 bits with equal weights takes one step, so callers should sort `weights`. */
export class Weights {
  private readonly uniformWeights: readonly (number | null)[];

  constructor(private readonly weights: readonly number[]) {
    this.uniformWeights = Array.from({ length: this.wordCount }, (_, wordIndex) => {
      const distinctWeights = new Set(weights.slice(wordIndex * 32, wordIndex * 32 + 32));
      return distinctWeights.size > 1 ? null : ([...distinctWeights][0] ?? 0);
    });
  }

  get wordCount(): number {
    return (this.weights.length + 31) >>> 5;
  }

  weightOf(set: Bitset): number {
    return this.weightOfIntersection(set, set);
  }

  weightOfIntersection(a: Bitset, b: Bitset): number {
    let sum = 0;
    for (let index = 0; index < this.uniformWeights.length; index++) {
      const word = a.wordAt(index) & b.wordAt(index);
      if (word !== 0) sum += this.weightOfWord(index, word);
    }
    return sum;
  }

  private weightOfWord(index: number, word: number): number {
    const uniformWeight = this.uniformWeights[index] ?? null;
    if (uniformWeight !== null) return uniformWeight * bitCount(word);
    let sum = 0;
    for (let bits = word; bits !== 0; bits &= bits - 1)
      sum += this.weights[(index << 5) + 31 - Math.clz32(bits & -bits)] ?? 0;
    return sum;
  }
}
