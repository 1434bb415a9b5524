import { getOrInsert } from '../../kernel/collections.js';
import { withMarker } from '../compile/rules-text.js';
import { type AccessChange, compareAccess } from '../diff/access-change.js';
import type { Finding } from '../document/finding.js';
import { PatternCache } from '../document/pattern-cache.js';
import {
  type ColumnRule,
  MARKER_PREFIX,
  READERS_FILTER,
  ruleCount,
  type RulesDocument,
  type TableRule,
  withoutMarker,
} from '../document/rules-document.js';
import { documentOf } from '../document/rules-reader.js';
import { conjuncts, withComparableFilters } from '../engine/schema-tables.js';
import { patternOfNames } from '../compile/name-pattern.js';

/** Rules to publish before the next version, so that no statement mixes two versions into access that neither of them gives. */
export interface FirstStep {
  text: string;
  hash: string;
  rules: number;
  bytes: number;
  /** The change of access from the text that was published last to `text`. */
  access: AccessChange;
  finding: Finding;
}

export interface FirstStepOrder {
  nextText: string;
  publishedText: string;
  /** The texts that the engine may still use. A text that cannot be read counts as giving no access. */
  usedTexts: readonly string[];
}

export const MASKS_FIRST = 'masks-first';

/**
 * Transitional rules to publish before `nextText`, so that no statement combines masks of older rules with a SELECT privilege of `nextText`. The
 * engine reads the masks for a statement before the privileges, and the rules may change in between (Trino 483; docs/sync-run.md).
 * @returns null, for example if no statement can combine rules in this way
 * @throws Error if the transitional rules would give more than `nextText`
 */
export function firstStep({ nextText: next, publishedText: published, usedTexts }: FirstStepOrder): FirstStep | null {
  const nextDocument = documentOf(next);
  const marker = nextDocument.system_session_properties.find(({ property }) => property?.startsWith(MARKER_PREFIX));
  if (marker?.user === undefined) return null;
  const stepRules = new FirstStepRules(nextDocument, [...new Set(usedTexts)].map(documentOf));
  const tables = nextDocument.tables.flatMap((rule) => [...stepRules.rulesBefore(rule), rule]);
  if (stepRules.waitingUsers.size === 0) return null;
  const unmarkedDocument = { ...withoutMarker(nextDocument), tables };
  const { text, hash, document } = withMarker(stepRules.patterns.anyMatchingName(marker.user), unmarkedDocument);
  // The engine already uses this first step. Without this test, rules with too many regions (users × tables) would give the same step in every run.
  if (usedTexts.every((textInUse) => textInUse === text)) return null;
  if (compareAccess(withComparableFilters(nextDocument), withComparableFilters(document)).gainedInAll > 0)
    throw new Error('a first step gives more than the next');
  const access = compareAccess(documentOf(published), document);
  const sizeFields = { rules: ruleCount(document), bytes: Buffer.byteLength(text) };
  return { text, hash, ...sizeFields, access, finding: stepRules.finding() };
}

interface ReadAccess {
  canSelect: boolean;
  masks: ReadonlyMap<string, string>;
  filters: ReadonlySet<string>;
  hiddenColumns: ReadonlySet<string>;
}

interface RegionAccesses {
  region: Region;
  /** The access to the region (users × tables) by each rules text that the engine may still use, without duplicates. */
  accesses: readonly ReadAccess[];
}

const NO_ACCESS: ReadAccess = { canSelect: false, masks: new Map(), filters: new Set(), hiddenColumns: new Set() };
/** The most regions (users × tables) into which a rule is divided. A rule that would need more is not divided. */
const MAX_REGIONS = 10_000;

/** Makes the table rules of a version published before `nextDocument`, so that no statement combines old masks with a new SELECT privilege. */
class FirstStepRules {
  readonly patterns = new PatternCache();
  /** By node (as text): the users who get their new access only with `nextDocument`. Null stands for all users. */
  readonly waitingUsers = new Map<string, Set<string | null>>();
  private readonly regions = new Regions(this.patterns);
  private readonly accessByKey = new Map<string, ReadAccess>();
  private readonly nearbyRulesBySchema = new Map<readonly TableRule[], Map<string, TableRule[]>>();

  constructor(
    private readonly nextDocument: RulesDocument,
    private readonly documentsInUse: readonly RulesDocument[],
  ) {}

  rulesBefore(rule: TableRule): TableRule[] {
    const { canSelect, masks, filters } = readAccessOf(rule);
    if (!canSelect || masks.size + filters.size === 0) return [];
    const rulesNearby = this.rulesNear(this.nextDocument.tables, rule);
    const earlierRules = rulesNearby.slice(0, rulesNearby.indexOf(rule));
    const addedRules: TableRule[] = [];
    for (const { region, accesses } of this.regionsOf(rule, earlierRules).reverse()) {
      const newRule = ruleForFirstStep(rule, accesses);
      if (newRule === null && !addedRules.some((added) => this.regions.intersection(region, added) !== null)) continue;
      addedRules.unshift({ ...(newRule ?? rule), ...region });
      if (newRule !== null) this.addWaitingUsers(region);
    }
    return addedRules;
  }

  finding(): Finding {
    const people = new Set([...this.waitingUsers.values()].flatMap((users) => [...users]));
    const [firstNode = '', ...otherNodes] = [...this.waitingUsers.keys()].sort();
    const peopleText = people.has(null) ? 'everybody' : people.size === 1 ? '1 person' : `${people.size} people`;
    const nodesText = otherNodes.length === 0 ? firstNode : `${firstNode} and ${otherNodes.length} more`;
    const verb = peopleText.includes('people') ? 'get' : 'gets';
    const message = `masks first: ${peopleText} ${verb} new access to ${nodesText} once the engine uses its masks and filters`;
    return { code: MASKS_FIRST, severity: 'info', message };
  }

  /** Divides the users and tables of a rule into regions (users × tables) with equal access. Users of `earlierRules` are left out. */
  private regionsOf(rule: TableRule, earlierRules: readonly TableRule[]): RegionAccesses[] {
    const { privileges: _, columns: _c, filter: _f, ...wholeRegion } = rule;
    const openRegion = this.regions.withoutUsersOf(earlierRules, wholeRegion);
    if (openRegion === null) return [];
    let regions: RegionAccesses[] = [{ region: openRegion, accesses: [] }];
    for (const document of this.documentsInUse) {
      regions = regions.flatMap(({ region, accesses }) =>
        this.accessesIn(region, document).flatMap((part) => {
          const undecidedPart = this.regions.withoutUsersOf(earlierRules, part.region);
          if (undecidedPart === null) return [];
          const access = this.sharedAccess(part.access);
          return { region: undecidedPart, accesses: accesses.includes(access) ? accesses : [...accesses, access] };
        }),
      );
      if (regions.length > MAX_REGIONS) return [{ region: openRegion, accesses: [NO_ACCESS] }];
    }
    return regions;
  }

  /** Replaces equal accesses by one object, because the time of `canMix` grows with the cube of the number of objects. */
  private sharedAccess(access: ReadAccess): ReadAccess {
    const { canSelect, masks, filters, hiddenColumns } = access;
    const key = JSON.stringify([canSelect, [...masks], [...filters], [...hiddenColumns]]);
    return getOrInsert(this.accessByKey, key, () => access);
  }

  /** The access that one document gives in each part of a region (users × tables). SELECT also requires a catalog rule that gives access. */
  private accessesIn(wholeRegion: Region, document: RulesDocument): { region: Region; access: ReadAccess }[] {
    const partition = this.regions.partition(wholeRegion, this.rulesNear(document.tables, wholeRegion));
    const accesses = partition.decidedParts.flatMap(({ region, rule }) => {
      const access = readAccessOf(rule);
      const { decidedParts: decided, undecidedPart } = this.regions.partition(
        region,
        access.canSelect ? document.catalogs : [],
      );
      if (undecidedPart === null && decided.every((part) => part.rule.allow !== 'none')) return { region, access };
      const decidedParts = decided.map((part) => ({
        region: part.region,
        access: { ...access, canSelect: part.rule.allow !== 'none' },
      }));
      return undecidedPart === null
        ? decidedParts
        : [...decidedParts, { region: undecidedPart, access: { ...access, canSelect: false } }];
    });
    return partition.undecidedPart === null
      ? accesses
      : [...accesses, { region: partition.undecidedPart, access: NO_ACCESS }];
  }

  /** The rules that may apply in the schemas of a region (users × tables). Cached by the patterns of catalog and schema. */
  private rulesNear(rules: readonly TableRule[], region: Region): TableRule[] {
    const rulesBySchema = getOrInsert(this.nearbyRulesBySchema, rules, () => new Map<string, TableRule[]>());
    return getOrInsert(rulesBySchema, JSON.stringify([region.catalog, region.schema]), () =>
      rules.filter((rule) => !this.regions.haveNoCommonSchema(region, rule)),
    );
  }

  private addWaitingUsers({ user, catalog, schema, table }: Region): void {
    const names = [catalog, schema, table].map((pattern) => pattern && this.patterns.anyMatchingName(pattern));
    const node = names.slice(0, names.indexOf(undefined) >>> 0).join('.') || 'everything';
    const waitingUsersAtNode = getOrInsert(this.waitingUsers, node, () => new Set<string | null>());
    const userLanguage = this.patterns.language(user);
    for (const name of userLanguage.kind === 'names' ? userLanguage.names : [null]) waitingUsersAtNode.add(name);
  }
}

function isReadPrivilege(privilege: string): boolean {
  return privilege === 'SELECT' || privilege === 'GRANT_SELECT';
}

/** The conjuncts of a rule's filter; none for `READERS_FILTER`, which hides no row. */
function filtersOf({ filter }: TableRule): string[] {
  return filter === undefined || filter === READERS_FILTER ? [] : conjuncts(filter).map(inParentheses);
}

function readAccessOf(rule: TableRule): ReadAccess {
  const columns = rule.columns ?? [];
  return {
    canSelect: rule.privileges.some(isReadPrivilege),
    masks: new Map(columns.flatMap(({ name, mask }) => (mask === undefined ? [] : [[name, mask]]))),
    filters: new Set(filtersOf(rule)),
    hiddenColumns: new Set(columns.flatMap(({ name, allow }) => (allow === false ? [name] : []))),
  };
}

/** A row filter that makes every statement fail. A filter that leaves out rows would silently give wrong results. */
const FAILING_FILTER = "(CAST(fail('access to this table is changing; please try again in some minutes') AS boolean))";

/** A stricter rule to publish before `rule`, because a running statement can mix old and new rules. Null: not needed. */
function ruleForFirstStep(rule: TableRule, accesses: readonly ReadAccess[]): TableRule | null {
  if (!canMix(readAccessOf(rule), accesses)) return null;
  const failingRule = withFilters(rule, [...filtersOf(rule), FAILING_FILTER]);
  const candidateRules = [withRestrictionsOf(rule, accesses), failingRule];
  const isSafeStep = (candidateRule: TableRule): boolean =>
    !canMix(readAccessOf(candidateRule), accesses) && !canMix(readAccessOf(rule), [readAccessOf(candidateRule)]);
  const privileges = rule.privileges.filter((privilege) => !isReadPrivilege(privilege));
  return candidateRules.find(isSafeStep) ?? { ...failingRule, privileges };
}

function withRestrictionsOf(rule: TableRule, accesses: readonly ReadAccess[]): TableRule {
  const hiddenNames = new Set(accesses.flatMap(({ hiddenColumns }) => [...hiddenColumns]));
  const ownColumns = rule.columns ?? [];
  const addedColumns = [...hiddenNames].filter((name) => !ownColumns.some((column) => column.name === name));
  const columns: ColumnRule[] = [...ownColumns, ...addedColumns.map((name) => ({ name }))].map((column) =>
    hiddenNames.has(column.name) ? { ...column, allow: false } : column,
  );
  const filters = [...filtersOf(rule), ...accesses.flatMap((access) => [...access.filters])];
  return withFilters({ ...rule, ...(columns.length > 0 && { columns }) }, filters);
}

function withFilters(rule: TableRule, filters: readonly string[]): TableRule {
  const distinctFilters = [...new Set(filters)];
  return distinctFilters.length === 0 ? rule : { ...rule, filter: distinctFilters.join(' AND ') };
}

function inParentheses(expression: string): string {
  return conjuncts(`${expression} AND (true)`).length === 2 ? expression : `(${expression})`;
}

/** Whether a statement that mixes versions of the rules can see data that no version shows. */
function canMix(next: ReadAccess, accesses: readonly ReadAccess[]): boolean {
  const allAccesses = [...accesses, next];
  const accessesShowingAll = allAccesses.filter(
    ({ canSelect, hiddenColumns }) => canSelect && [...hiddenColumns].every((column) => next.hiddenColumns.has(column)),
  );
  const isShownAlone = (masks: ReadonlyMap<string, string>, filters: ReadonlySet<string>): boolean =>
    filters.has(FAILING_FILTER) ||
    accessesShowingAll.some(
      (access) =>
        [...access.masks].every(([column, mask]) => next.hiddenColumns.has(column) || masks.get(column) === mask) &&
        [...access.filters].every((filter) => filters.has(filter)),
    );
  return accesses.some(({ masks }) =>
    allAccesses.some((checkedAccess) => {
      const appliedMasks = checkedAccess.canSelect
        ? new Map([...masks].filter(([column]) => !checkedAccess.hiddenColumns.has(column)))
        : new Map<string, string>();
      // The engine checks access before it reads filters. After a check by the newest rules (`next`), it reads no older filters.
      return (checkedAccess === next ? [next] : allAccesses).some(
        ({ filters }) => !isShownAlone(appliedMasks, filters),
      );
    }),
  );
}

const OBJECT_KEYS = ['catalog', 'schema', 'table'] as const;
const REGION_KEYS = [...OBJECT_KEYS, 'user'] as const;

/** A set of users × tables: patterns of catalog, schema, table and user. An absent pattern matches any name. */
type Region = Pick<TableRule, (typeof REGION_KEYS)[number]>;

interface Partition<Rule> {
  /** Parts of the region (users × tables), each with the rule that decides for this part. */
  decidedParts: { region: Region; rule: Rule }[];
  /** The part of the region without a known deciding rule; null: no such part. */
  undecidedPart: Region | null;
}

/** Intersects and subtracts regions (users × tables). Exact for lists of names; the intersection of two different patterns with `.*` is unknown. */
class Regions {
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
