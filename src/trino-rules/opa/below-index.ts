import { SYSTEM } from '../compile/engine-terms.js';
import { getOrInsert } from '../compile/get-or-insert.js';
import { type RightLetter, RIGHT_LETTERS } from '../document/opa-operations.js';
import type { SnapshotSettings, SnapshotPolicy } from '../model/snapshot.js';
import { branchAt, type JsonTree, compactRecord, type Json } from './tree.js';

/** A moment in milliseconds since 1970. Infinity: never. */
export type Moment = number;

/** Moves the end of a right to `end`, if that is later. */
export function extendEnd<K>(ends: Map<K, Moment>, key: K, end: Moment): void {
  ends.set(key, Math.max(end, ends.get(key) ?? 0));
}

export type EndByRight = Map<RightLetter, Moment>;

const ORDERED_LETTERS = Object.keys(RIGHT_LETTERS) as RightLetter[];

export function timedRightsOf(ends: EndByRight): Json {
  const heldLetters = ORDERED_LETTERS.filter((letter) => ends.has(letter));
  const permanentLetters = heldLetters.filter((letter) => ends.get(letter) === Infinity).join('');
  const endsByLetter = new Map(
    heldLetters.map((letter) => [letter, ends.get(letter) ?? 0] as const).filter(([, end]) => end < Infinity),
  );
  return endsByLetter.size === 0 ? permanentLetters : [permanentLetters, endsByLetter];
}

/** The keys of a node: catalog, schema, and table or routine; `''` for an absent level. */
export type Path = readonly [catalog: string, schema: string, leaf: string];

export interface NodeGrants {
  key: string;
  path: Path;
  ends: EndByRight;
}

/** A policy on data or routines, with the key of its principal. */
export interface NodePolicy {
  key: string;
  path: Path;
  policy: SnapshotPolicy;
  /** Whether the policy restricts data and therefore takes away ownership and rights over routines. */
  restrictsData: boolean;
}

/**
 * For each principal and node: the rights that grants below the node give, and the children that OPA must evaluate itself. OPA lists names by
 * this index, without a search of all grants.
 */
export function belowIndex(
  grants: readonly NodeGrants[],
  policies: readonly NodePolicy[],
  settings: SnapshotSettings,
): JsonTree {
  const entriesByKey = new Map<string, { key: string; path: Path; endByRight: EndByRight; children: Set<string> }>();
  const entryAt = (key: string, path: Path) =>
    getOrInsert(entriesByKey, keyOf([key, ...path]), () => ({
      key,
      path,
      endByRight: new Map() as EndByRight,
      children: new Set(),
    }));
  const policiesBetween = new PoliciesBetween(policies, settings);
  for (const { key, path, ends } of grants) {
    const rightLosses = [...ends].map(
      ([letter, end]) => [letter, end, policiesBetween.lossDepth(path, letter)] as const,
    );
    for (let depth = depthOf(path) - 1; depth >= 0; depth--) {
      const entry = entryAt(key, pathUpTo(path, depth));
      for (const [letter, end, lossDepth] of rightLosses)
        if (depth >= lossDepth) extendEnd(entry.endByRight, letter, end);
        else entry.children.add(path[depth] ?? '');
    }
  }
  for (const path of unmaskingPaths(policies, settings))
    for (let depth = depthOf(path) - 1; depth >= 0; depth--)
      entryAt('', pathUpTo(path, depth)).children.add(path[depth] ?? '');
  const indexTree: JsonTree = new Map();
  for (const { key, path, endByRight: rightEnds, children } of entriesByKey.values()) {
    const l = rightEnds.size > 0 ? timedRightsOf(rightEnds) : undefined;
    const n = children.size > 0 ? [...children].sort() : undefined;
    branchAt(indexTree, key, path[0]).set(path[1], compactRecord({ l, n }));
  }
  return indexTree;
}

function depthOf([catalog, schema, leaf]: Path): number {
  return leaf !== '' ? 3 : schema !== '' ? 2 : catalog !== '' ? 1 : 0;
}

function pathUpTo(path: Path, depth: number): Path {
  const [catalog, schema, leaf] = path.map((name, level) => (level < depth ? name : ''));
  return [catalog ?? '', schema ?? '', leaf ?? ''];
}

/** A key for names, which contain no NUL. */
function keyOf(names: readonly string[]): string {
  return names.join('\0');
}

class PoliciesBetween {
  private readonly policyNodeKeys = new Set<string>();
  private readonly parentsOfPolicies = new Set<string>();
  private readonly rawColumnCatalogs: ReadonlySet<string>;
  private readonly sharedFileCatalogs: ReadonlySet<string>;

  constructor(policies: readonly NodePolicy[], { rawColumnCatalogs, externalTableCatalogs }: SnapshotSettings) {
    this.rawColumnCatalogs = new Set(rawColumnCatalogs);
    this.sharedFileCatalogs = new Set(externalTableCatalogs);
    for (const { path } of policies) {
      const depth = depthOf(path);
      this.policyNodeKeys.add(keyOf(path.slice(0, depth)));
      for (const level of [1, 2]) if (depth >= level) this.parentsOfPolicies.add(keyOf(path.slice(0, level)));
    }
  }

  /** The deepest level of a path at which a policy or a setting can take the right away. 0: no level below the root. */
  lossDepth(path: Path, letter: RightLetter): number {
    const [catalog, schema, leaf] = path;
    const depth = depthOf(path);
    const isCompanion = leaf.includes('$') && !leaf.startsWith('\t');
    if (isCompanion || (letter === 'O' && schema !== '' && this.parentsOfPolicies.has(keyOf([catalog, schema]))))
      return depth;
    for (let level = depth; level > 0; level--) if (this.policyNodeKeys.has(keyOf(path.slice(0, level)))) return level;
    const yieldsToCatalog = 'FHP'.includes(letter) || ('OT'.includes(letter) && this.sharedFileCatalogs.has(catalog));
    const yieldsInCatalog = yieldsToCatalog && this.parentsOfPolicies.has(keyOf([catalog]));
    return yieldsInCatalog || this.rawColumnCatalogs.has(catalog) || catalog === SYSTEM ? 1 : 0;
  }
}

/**
 * Nodes at which a column is hidden that a higher node masks. Users may have more access there: a mask forbids writing, a hidden column
 * does not.
 */
function unmaskingPaths(policies: readonly NodePolicy[], { rawColumnCatalogs }: SnapshotSettings): Path[] {
  const masks = new Map<string, Set<string>>();
  for (const { path, policy } of policies)
    if (policy.kind === 'column_mask')
      getOrInsert(masks, keyOf([...path, policy.resource.column]), () => new Set<string>()).add(policy.expression);
  const isMaskedAbove = (path: Path, column: string): boolean =>
    [0, 1, 2].some((depth) => depth < depthOf(path) && masks.has(keyOf([...pathUpTo(path, depth), column])));
  const hidingPolicies = policies.filter(({ path, policy }) => {
    if (policy.kind !== 'hidden_column' && policy.kind !== 'column_mask') return false;
    const { column } = policy.resource;
    const isHidden = policy.kind === 'hidden_column' || (masks.get(keyOf([...path, column]))?.size ?? 0) > 1;
    return isHidden && isMaskedAbove(path, column);
  });
  const isMaskedAtRoot = [...masks.keys()].some((key) => key.startsWith(keyOf(['', '', '', ''])));
  const rawCatalogs = isMaskedAtRoot ? rawColumnCatalogs.filter((catalog) => catalog !== SYSTEM) : [];
  return [...hidingPolicies.map(({ path }) => path), ...rawCatalogs.map((catalog): Path => [catalog, '', ''])];
}
