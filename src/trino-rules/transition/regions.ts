import { patternOfNames } from '../compile/name-pattern.js';
import type { PatternCache } from '../document/pattern-cache.js';
import type { TableRule } from '../document/rules-document.js';

const OBJECT_KEYS = ['catalog', 'schema', 'table'] as const;
const REGION_KEYS = [...OBJECT_KEYS, 'user'] as const;

/** A set of users × tables: patterns of catalog, schema, table and user. An absent pattern matches any name. */
export type Region = Pick<TableRule, (typeof REGION_KEYS)[number]>;

interface Partition<Rule> {
  /** Parts of the region (users × tables), each with the rule that decides for this part. */
  decidedParts: { region: Region; rule: Rule }[];
  /** The part of the region without a known deciding rule; null: no such part. */
  undecidedPart: Region | null;
}

/** Intersects and subtracts regions (users × tables). Exact for lists of names; the intersection of two different patterns with `.*` is unknown. */
export class Regions {
  constructor(private readonly patterns: PatternCache) {}

  /** Divides a region (users × tables) among rules: the first rule that matches a user and a table decides. */
  partition<Rule extends Region>(wholeRegion: Region, rules: readonly Rule[]): Partition<Rule> {
    const decidedParts: Partition<Rule>['decidedParts'] = [];
    let undecidedPart: Region | null = wholeRegion;
    for (const rule of rules) {
      const region = this.intersection(undecidedPart, rule);
      if (region === 'unknown') break;
      if (region === null) continue;
      decidedParts.push({ region, rule });
      undecidedPart = this.withoutUsersOf([rule], undecidedPart);
      if (undecidedPart === null) break;
    }
    return { decidedParts, undecidedPart };
  }

  intersection(a: Region, b: Region): Region | 'unknown' | null {
    const commonRegion: Region = {};
    let isRegionKnown = true;
    for (const key of REGION_KEYS) {
      const sharedPattern = this.commonPattern(a[key], b[key]);
      if (sharedPattern === null) return null;
      if (sharedPattern === 'unknown') isRegionKnown = false;
      else if (sharedPattern.pattern !== undefined) commonRegion[key] = sharedPattern.pattern;
    }
    return isRegionKnown ? commonRegion : 'unknown';
  }

  /** Removes from `region` (users × tables) the users for whom one of `rules` matches all tables of the region. Null: no user remains. */
  withoutUsersOf(rules: readonly Region[], region: Region): Region | null {
    let { user } = region;
    for (const rule of rules) {
      if (!OBJECT_KEYS.every((key) => this.includes(rule[key], region[key]))) continue;
      if (this.includes(rule.user, user)) return null;
      const userLanguage = this.patterns.language(user);
      if (userLanguage.kind !== 'names') continue;
      const remainingNames = [...userLanguage.names].filter((name) => !this.patterns.matches(rule.user, name));
      if (remainingNames.length < userLanguage.names.size) user = patternOfNames(remainingNames);
    }
    return user === undefined ? region : { ...region, user };
  }

  haveNoCommonSchema(a: Region, b: Region): boolean {
    return (['catalog', 'schema'] as const).some((key) => this.commonPattern(a[key], b[key]) === null);
  }

  /** A pattern of the names that both patterns match. Null: no name matches both. `unknown`: the patterns differ, and neither is a list of names. */
  private commonPattern(
    a: string | undefined,
    b: string | undefined,
  ): { pattern: string | undefined } | 'unknown' | null {
    if (a === undefined || b === undefined || a === b) return { pattern: a ?? b };
    const [listed, other] = [this.patterns.language(a), this.patterns.language(b)];
    if (listed.kind !== 'names') return other.kind === 'names' ? this.commonPattern(b, a) : 'unknown';
    const names = [...listed.names].filter((name) => this.patterns.matches(b, name));
    if (names.length === 0) return null;
    return { pattern: names.length === listed.names.size ? a : patternOfNames(names) };
  }

  private includes(widePattern: string | undefined, narrowPattern: string | undefined): boolean {
    if (widePattern === undefined || widePattern === narrowPattern) return true;
    return this.patterns.listsOnly(narrowPattern, (name) => this.patterns.matches(widePattern, name));
  }
}
