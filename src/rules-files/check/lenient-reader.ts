import { type JsonMember, type JsonNode, plainValue, readJson } from '../../kernel/json-reader.js';
import { ruleText } from '../../trino-rules/document/rules-document.js';
import { isRefused, type PlacedFinding } from './checks.js';
import { formatOf, SECTION_NAMES, type SectionName, closestSpelling, spellingHint } from './engine-format.js';
import { FieldReader } from './field-reader.js';
import type { ForeignRule, ForeignRules } from './foreign-rules.js';
import { describeValue } from './values.js';

export interface LenientReading {
  /** The rules by section; null: the text holds no document. */
  rules: ForeignRules | null;
  /** Offset of the document's brace. */
  at: number;
  findings: PlacedFinding[];
}

const READ_LIMITS = { maxValues: 5_000_000, maxFaults: 1_000, isLenient: true };

export interface Dialect {
  /** The engine's version; default: the newest that is tested. */
  trino?: number;
  /** Whether the file is for a single catalog (`<connector>.security=file`). Such rules have other sections and name no catalog. */
  isOfOneCatalog?: boolean;
}

/**
 * Reads any rules file as the engine does (Trino 483). Reports each text that the engine refuses, or reads with another meaning than it
 * seems to have, and reads on.
 */
export function readLeniently(text: string, dialect: Dialect = {}): LenientReading {
  const { root, faults } = readJson(text, READ_LIMITS);
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
  return { rules: readSections(root, findings, dialect), at: root.at, findings };
}

/** The sections of a single catalog's rules, by the key in the file. */
const SINGLE_CATALOG_SECTIONS: ReadonlyMap<string, SectionName> = new Map([
  ...(['schemas', 'tables', 'functions', 'procedures', 'authorization'] as const).map((name) => [name, name] as const),
  ['session_properties', 'catalog_session_properties'],
]);

function readSections(root: JsonNode & { kind: 'object' }, findings: PlacedFinding[], dialect: Dialect): ForeignRules {
  const rules = new Map<SectionName, ForeignRule[]>();
  for (const { key, at, value } of lastMemberOfEachKey(root.members)) {
    const sectionName =
      dialect.isOfOneCatalog === true ? SINGLE_CATALOG_SECTIONS.get(key) : SECTION_NAMES.find((each) => each === key);
    if (sectionName === undefined) {
      findings.push({
        code: 'rules-section-unknown',
        message: `the engine refuses the section "${key}"${dialect.isOfOneCatalog === true ? ' in the rules of a single catalog' : sectionHint(key)}`,
        at,
      });
    } else if (value.kind === 'null') {
      const message = `the section "${sectionName}" is null, which the engine reads as absent${absenceMeaning(sectionName)}`;
      findings.push({ code: 'rules-section-null', message, at: value.at });
    } else if (value.kind !== 'array') {
      const message = `the section "${sectionName}" must be a list of rules, not ${describeValue(value)}`;
      findings.push({ code: 'rules-section-not-a-list', message, at: value.at });
      rules.set(sectionName, []);
    } else {
      const sectionRules = readRules(sectionName, key, value.items, findings, dialect);
      rules.set(sectionName, sectionRules);
      const letsSomebodyExecute = sectionRules.some(({ rights, isRefused }) => isRefused || rights.includes('execute'));
      if (sectionName === 'queries' && !letsSomebodyExecute) {
        const message = 'no rule of "queries" allows execute, so nobody may run any query';
        findings.push({ code: 'rules-queries-closed', message, at: value.at });
      }
    }
  }
  reportAbsentSections(root, rules, findings, dialect);
  if (dialect.isOfOneCatalog !== true && looksLikeOneCatalog(root, rules)) {
    const message =
      'no section and no rule is about catalogs, as in the rules of a single catalog: check those with --single-catalog';
    findings.push({ code: 'rules-of-one-catalog', message, at: root.at });
  }
  return rules;
}

/** Whether a file seems to be for a single catalog: nothing in it names catalogs. */
function looksLikeOneCatalog(root: JsonNode & { kind: 'object' }, rules: ForeignRules): boolean {
  const allRules = [...rules.values()].flat();
  return (
    root.members.every(({ key }) => SINGLE_CATALOG_SECTIONS.has(key)) &&
    (allRules.length > 0 || root.members.some(({ key }) => key === 'session_properties')) &&
    allRules.every(({ patterns }) => !patterns.has('catalog'))
  );
}

function readRules(
  section: SectionName,
  key: string,
  items: readonly JsonNode[],
  findings: PlacedFinding[],
  dialect: Dialect,
): ForeignRule[] {
  const format = formatOf(section);
  const { catalog: _, ...fields } = format.fields;
  const ruleFormat = dialect.isOfOneCatalog === true ? { ...format, fields } : format;
  return items.flatMap((item, index) => {
    const place = `${key}[${index}]`;
    if (item.kind !== 'object') {
      const message = `a rule must be an object, not ${describeValue(item)}`;
      findings.push({ code: 'rules-wrong-type', message, at: item.at, rule: place });
      return [];
    }
    const ruleFindings: PlacedFinding[] = [];
    const members = lastMemberOfEachKey(item.members);
    const ruleContent = new FieldReader(ruleFormat, item.at, members, ruleFindings, dialect.trino).readRule();
    for (const finding of ruleFindings) findings.push({ ...finding, rule: place });
    return [
      {
        section,
        index,
        place,
        at: item.at,
        ...ruleContent,
        isRefused: ruleFindings.some(({ code }) => isRefused(code)),
        get text() {
          return ruleText(plainValue(item));
        },
      },
    ];
  });
}

/** Reports absent sections whose absence gives access, or reports that the file has no section at all. */
function reportAbsentSections(
  root: JsonNode & { kind: 'object' },
  rules: ForeignRules,
  findings: PlacedFinding[],
  { isOfOneCatalog = false }: Dialect,
): void {
  const isInFile = (section: SectionName): boolean => root.members.some(({ key }) => key === section);
  if (root.members.length === 0) {
    const message = 'there is no section, so everybody may read and write everything';
    findings.push({ code: 'rules-all-open', message, at: root.at });
    return;
  }
  if (!SECTION_NAMES.some(isInFile)) return;
  const misspelledSections = root.members.flatMap(({ key }) => closestSpelling(key, SECTION_NAMES) ?? []);
  for (const section of isOfOneCatalog ? (['schemas', 'tables'] as const) : SECTION_NAMES) {
    const { whenAbsent } = formatOf(section);
    if (isInFile(section) || misspelledSections.includes(section) || whenAbsent === undefined) continue;
    const message = `the section "${section}" is missing${absenceMeaning(section)}`;
    const code = whenAbsent.severity === 'warning' ? 'rules-section-missing' : 'rules-section-default';
    findings.push({ code, message, at: root.at });
  }
  if (rules.has('principals') && !isInFile('impersonation')) {
    const message =
      'the section "impersonation" is missing, which beside "principals" lets everybody impersonate everybody';
    findings.push({ code: 'rules-section-missing', message, at: root.at });
  }
}

function absenceMeaning(section: SectionName): string {
  const { whenAbsent } = formatOf(section);
  return whenAbsent === undefined ? '' : `: ${whenAbsent.meaning}`;
}

function sectionHint(key: string): string {
  if (key === 'session_properties') return '; here it is "system_session_properties" or "catalog_session_properties"';
  return spellingHint(key, SECTION_NAMES);
}

/** One member for each key: the last, which the engine reads. */
function lastMemberOfEachKey(members: readonly JsonMember[]): JsonMember[] {
  return [...new Map(members.map((member) => [member.key, member])).values()];
}
