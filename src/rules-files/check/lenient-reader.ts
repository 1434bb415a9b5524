import { type JsonMember, type JsonNode, plainValue, readJson } from '../../kernel/json-reader.js';
import { ruleText } from '../../trino-rules/document/rules-document.js';
import { isRefused, type PlacedFinding } from './checks.js';
import { formatOf, SECTION_NAMES, type SectionName, spelledLike, spellingHint } from './engine-format.js';
import { FieldReader } from './field-reader.js';
import type { ForeignRule, ForeignRules } from './foreign-rules.js';
import { describeValue } from './values.js';

export interface LenientReading {
  /** Null: the text holds no document. */
  rules: ForeignRules | null;
  /** Offset of the document's brace. */
  at: number;
  findings: PlacedFinding[];
}

const LIMITS = { maxValues: 5_000_000, maxFaults: 1_000, isLenient: true };

export interface ReadFor {
  /** The engine's version; default: the newest that is tried. */
  trino?: number;
  /** The rules of a single catalog (`<connector>.security=file`), which have other sections and name no catalog. */
  isOfOneCatalog?: boolean;
}

/**
 * Reads any rules file as the engine does (Trino 483), and continues after each fault: what the engine refuses, and what it
 * accepts but reads as something else than is written.
 */
export function readLeniently(text: string, readFor: ReadFor = {}): LenientReading {
  const { root, faults } = readJson(text, LIMITS);
  const findings: PlacedFinding[] = faults.map(({ code, message, at }) =>
    code === 'json-duplicate-key'
      ? { code, message: `${message}: the engine uses this one and ignores the others`, at }
      : { code: code === 'json-too-many-values' ? 'json-syntax' : code, message, at },
  );
  if (root === null) return { rules: null, at: 0, findings };
  if (root.kind !== 'object') {
    const message = `the document must be one object of sections, not ${describeValue(root)}`;
    findings.push({ code: 'rules-wrong-type', message, at: root.at });
    return { rules: null, at: root.at, findings };
  }
  return { rules: readSections(root, findings, readFor), at: root.at, findings };
}

/** The sections of a single catalog's rules. */
const OF_ONE_CATALOG: ReadonlyMap<string, SectionName> = new Map([
  ...(['schemas', 'tables', 'functions', 'procedures', 'authorization'] as const).map((name) => [name, name] as const),
  ['session_properties', 'catalog_session_properties'],
]);

function readSections(root: JsonNode & { kind: 'object' }, findings: PlacedFinding[], readFor: ReadFor): ForeignRules {
  const rules = new Map<SectionName, ForeignRule[]>();
  for (const { key, at, value } of lastOfEach(root.members)) {
    const name = readFor.isOfOneCatalog === true ? OF_ONE_CATALOG.get(key) : SECTION_NAMES.find((each) => each === key);
    if (name === undefined) {
      findings.push({
        code: 'rules-section-unknown',
        message: `the engine refuses the section "${key}"${readFor.isOfOneCatalog === true ? ' in the rules of a single catalog' : hint(key)}`,
        at,
      });
    } else if (value.kind === 'null') {
      const message = `the section "${name}" is null, which the engine reads as absent${meaning(name)}`;
      findings.push({ code: 'rules-section-null', message, at: value.at });
    } else if (value.kind !== 'array') {
      const message = `the section "${name}" must be a list of rules, not ${describeValue(value)}`;
      findings.push({ code: 'rules-section-not-a-list', message, at: value.at });
      rules.set(name, []);
    } else {
      const read = readRules(name, key, value.items, findings, readFor);
      rules.set(name, read);
      if (name === 'queries' && !read.some(({ gives, isRefused }) => isRefused || gives.includes('execute'))) {
        const message = 'no rule of "queries" allows execute, so nobody may run any query';
        findings.push({ code: 'rules-queries-closed', message, at: value.at });
      }
    }
  }
  reportAbsent(root, rules, findings, readFor);
  if (readFor.isOfOneCatalog !== true && isLikeOneCatalog(root, rules)) {
    const message =
      'no section and no rule is about catalogs, as in the rules of a single catalog: check those with --single-catalog';
    findings.push({ code: 'rules-of-one-catalog', message, at: root.at });
  }
  return rules;
}

/** Whether no section and no rule is about catalogs. */
function isLikeOneCatalog(root: JsonNode & { kind: 'object' }, rules: ForeignRules): boolean {
  const all = [...rules.values()].flat();
  return (
    root.members.every(({ key }) => OF_ONE_CATALOG.has(key)) &&
    (all.length > 0 || root.members.some(({ key }) => key === 'session_properties')) &&
    all.every(({ patterns }) => !patterns.has('catalog'))
  );
}

function readRules(
  section: SectionName,
  key: string,
  items: readonly JsonNode[],
  findings: PlacedFinding[],
  readFor: ReadFor,
): ForeignRule[] {
  const format = formatOf(section);
  const { catalog: _, ...fields } = format.fields;
  const used = readFor.isOfOneCatalog === true ? { ...format, fields } : format;
  return items.flatMap((item, index) => {
    const place = `${key}[${index}]`;
    if (item.kind !== 'object') {
      const message = `a rule must be an object, not ${describeValue(item)}`;
      findings.push({ code: 'rules-wrong-type', message, at: item.at, rule: place });
      return [];
    }
    const own: PlacedFinding[] = [];
    const read = new FieldReader(used, item.at, lastOfEach(item.members), own, readFor.trino).read();
    for (const finding of own) findings.push({ ...finding, rule: place });
    return [
      {
        section,
        index,
        place,
        at: item.at,
        ...read,
        isRefused: own.some(({ code }) => isRefused(code)),
        get text() {
          return ruleText(plainValue(item));
        },
      },
    ];
  });
}

/** Reports sections without which something is open, or that there is no section at all. */
function reportAbsent(
  root: JsonNode & { kind: 'object' },
  rules: ForeignRules,
  findings: PlacedFinding[],
  { isOfOneCatalog = false }: ReadFor,
): void {
  const isNamed = (section: SectionName): boolean => root.members.some(({ key }) => key === section);
  if (root.members.length === 0) {
    const message = 'there is no section, so everybody may read and write everything';
    findings.push({ code: 'rules-all-open', message, at: root.at });
    return;
  }
  if (!SECTION_NAMES.some(isNamed)) return;
  const unknown = root.members.flatMap(({ key }) => spelledLike(key, SECTION_NAMES) ?? []);
  for (const section of isOfOneCatalog ? (['schemas', 'tables'] as const) : SECTION_NAMES) {
    const { whenAbsent } = formatOf(section);
    if (isNamed(section) || unknown.includes(section) || whenAbsent === undefined) continue;
    const message = `the section "${section}" is missing${meaning(section)}`;
    const code = whenAbsent.severity === 'warning' ? 'rules-section-missing' : 'rules-section-default';
    findings.push({ code, message, at: root.at });
  }
  if (rules.has('principals') && !isNamed('impersonation')) {
    const message =
      'the section "impersonation" is missing, which beside "principals" lets everybody impersonate everybody';
    findings.push({ code: 'rules-section-missing', message, at: root.at });
  }
}

function meaning(section: SectionName): string {
  const { whenAbsent } = formatOf(section);
  return whenAbsent === undefined ? '' : `: ${whenAbsent.meaning}`;
}

function hint(key: string): string {
  if (key === 'session_properties') return '; here it is "system_session_properties" or "catalog_session_properties"';
  return spellingHint(key, SECTION_NAMES);
}

/** One member for each key: the last, which the engine reads. */
function lastOfEach(members: readonly JsonMember[]): JsonMember[] {
  return [...new Map(members.map((member) => [member.key, member])).values()];
}
