import { type JsonNode, readJson } from '../../kernel/json-reader.js';
import { type Finding, TextPositions } from './finding.js';
import { RuleFieldReader, type RuleFault } from './rule-field-reader.js';
import {
  FUNCTION_PRIVILEGES,
  PROCEDURE_PRIVILEGES,
  QUERY_RIGHTS,
  SYSTEM_INFORMATION_RIGHTS,
  TABLE_PRIVILEGES,
  type ColumnRule,
  type RulesDocument,
} from './rules-document.js';

export type RulesReading = { kind: 'read'; document: RulesDocument } | { kind: 'refused'; findings: Finding[] };

/**
 * Reads `rules.json` more strictly than the engine, so that nothing it accepts means something else there than it says
 * here (Trino 483, file access control: A.4 and A.5 of its behaviour). Every fault is a finding with line and column.
 */
export function readRules(source: string | Uint8Array): RulesReading {
  const text = typeof source === 'string' ? source : decode(source);
  if (typeof text !== 'string') return { kind: 'refused', findings: [text] };
  const faults: PlacedFault[] = [];
  if (text.startsWith('\ufeff')) {
    return refused(text, [{ code: 'json-byte-order-mark', message: 'the text begins with a byte order mark', at: 0 }]);
  }
  const json = readJson(text);
  faults.push(...json.faults);
  const document = json.root && readDocument(json.root, faults);
  return document !== null && faults.length === 0 ? { kind: 'read', document } : refused(text, faults);
}

type PlacedFault = RuleFault & { rule?: string };

function refused(text: string, faults: readonly PlacedFault[]): RulesReading {
  const positions = new TextPositions(text);
  const findings = faults.map(({ at, ...fault }): Finding => ({ ...fault, severity: 'error', ...positions.of(at) }));
  return { kind: 'refused', findings };
}

function decode(bytes: Uint8Array): string | Finding {
  const lenient = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const again = new TextEncoder().encode(lenient);
  const bad = again.findIndex((byte, at) => byte !== bytes[at]);
  if (bad < 0 && again.length === bytes.length) return lenient;
  const before = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, bad < 0 ? bytes.length : bad));
  const position = new TextPositions(before).of(before.length);
  return { code: 'json-encoding', severity: 'error', message: 'the text is not UTF-8', ...position };
}

const SECTIONS: { [Name in keyof RulesDocument]: SectionReader<RulesDocument[Name][number]> } = {
  catalogs: {
    keys: ['user', 'catalog', 'allow'],
    read: (f) => ({
      ...patterns(f, 'user', 'catalog'),
      allow: f.required('allow', f.oneOf('allow', ['all', 'read-only', 'none']), 'none'),
    }),
  },
  schemas: {
    keys: ['user', 'catalog', 'schema', 'owner'],
    read: (f) => ({
      ...patterns(f, 'user', 'catalog', 'schema'),
      owner: f.required('owner', f.boolean('owner'), false),
    }),
  },
  tables: {
    keys: ['user', 'catalog', 'schema', 'table', 'privileges', 'columns', 'filter'],
    read: (f, faults) => {
      const columns = readColumns(f, faults);
      const filter = f.expression('filter');
      return {
        ...patterns(f, 'user', 'catalog', 'schema', 'table'),
        privileges: f.required('privileges', f.listOf('privileges', TABLE_PRIVILEGES), []),
        ...(columns && { columns }),
        ...(filter !== undefined && { filter }),
      };
    },
  },
  queries: {
    keys: ['user', 'queryOwner', 'allow'],
    read: (f) => {
      const owner = patterns(f, 'queryOwner');
      // One executes one's own: the engine refuses a file that says more (seen on 483).
      const rights = owner.queryOwner === undefined ? QUERY_RIGHTS : QUERY_RIGHTS.filter((each) => each !== 'execute');
      return { ...patterns(f, 'user'), ...owner, allow: f.required('allow', f.listOf('allow', rights), []) };
    },
  },
  impersonation: {
    keys: ['original_user', 'new_user', 'allow'],
    read: (f) => ({
      ...patterns(f, 'original_user'),
      new_user: f.required('new_user', newUser(f), 'nobody'),
      allow: f.required('allow', f.boolean('allow'), false),
    }),
  },
  functions: {
    keys: ['user', 'catalog', 'schema', 'function', 'privileges'],
    read: (f) => ({
      ...patterns(f, 'user', 'catalog', 'schema', 'function'),
      privileges: f.required('privileges', f.listOf('privileges', FUNCTION_PRIVILEGES), []),
    }),
  },
  procedures: {
    keys: ['user', 'catalog', 'schema', 'procedure', 'privileges'],
    read: (f) => ({
      ...patterns(f, 'user', 'catalog', 'schema', 'procedure'),
      privileges: f.required('privileges', f.listOf('privileges', PROCEDURE_PRIVILEGES), []),
    }),
  },
  system_information: {
    keys: ['user', 'allow'],
    isClosedWhenAbsent: true,
    read: (f) => ({
      ...patterns(f, 'user'),
      allow: f.required('allow', f.listOf('allow', SYSTEM_INFORMATION_RIGHTS), []),
    }),
  },
  system_session_properties: {
    keys: ['user', 'property', 'allow'],
    read: (f) => ({ ...patterns(f, 'user', 'property'), allow: f.required('allow', f.boolean('allow'), false) }),
  },
  catalog_session_properties: {
    keys: ['user', 'catalog', 'property', 'allow'],
    read: (f) => ({
      ...patterns(f, 'user', 'catalog', 'property'),
      allow: f.required('allow', f.boolean('allow'), false),
    }),
  },
};

interface SectionReader<Rule> {
  keys: readonly string[];
  /** It may be absent, which gives nobody anything. */
  isClosedWhenAbsent?: true;
  read(fields: RuleFieldReader, faults: RuleFault[]): Rule;
}

function readDocument(root: JsonNode, faults: PlacedFault[]): RulesDocument | null {
  if (root.kind !== 'object') {
    faults.push({ code: 'rules-wrong-type', message: 'the document must be one object of sections', at: root.at });
    return null;
  }
  for (const { key, at } of root.members) {
    if (!Object.hasOwn(SECTIONS, key)) {
      faults.push({ code: 'rules-section-unknown', message: `there is no section "${key}" here`, at });
    }
  }
  const section = <Name extends keyof RulesDocument>(name: Name): RulesDocument[Name][number][] =>
    readSection(name, SECTIONS[name], root, faults);
  return {
    catalogs: section('catalogs'),
    schemas: section('schemas'),
    tables: section('tables'),
    queries: section('queries'),
    impersonation: section('impersonation'),
    functions: section('functions'),
    procedures: section('procedures'),
    system_information: section('system_information'),
    system_session_properties: section('system_session_properties'),
    catalog_session_properties: section('catalog_session_properties'),
  };
}

function readSection<Rule>(
  name: string,
  reader: SectionReader<Rule>,
  root: JsonNode & { kind: 'object' },
  faults: PlacedFault[],
): Rule[] {
  const member = root.members.findLast(({ key }) => key === name);
  if (member === undefined) {
    if (reader.isClosedWhenAbsent) return [];
    const message = `the section "${name}" is missing; what the engine puts in its place is often "everybody may"`;
    faults.push({ code: 'rules-section-missing', message, at: root.at });
    return [];
  }
  if (member.value.kind !== 'array') {
    const message = `the section "${name}" must be a list of rules`;
    faults.push({ code: 'rules-section-not-a-list', message, at: member.value.at });
    return [];
  }
  const rules: Rule[] = [];
  member.value.items.forEach((item, index) => {
    const own: RuleFault[] = [];
    if (item.kind === 'object') rules.push(reader.read(new RuleFieldReader(item, reader.keys, own), own));
    else own.push({ code: 'rules-wrong-type', message: 'a rule must be an object', at: item.at });
    for (const fault of own) faults.push({ ...fault, rule: `${name}[${index}]` });
  });
  return rules;
}

function patterns<Key extends string>(fields: RuleFieldReader, ...keys: Key[]): Partial<Record<Key, string>> {
  const read: Partial<Record<Key, string>> = {};
  for (const key of keys) {
    const pattern = fields.pattern(key);
    if (pattern !== undefined) read[key] = pattern;
  }
  return read;
}

/** `new_user` is a replacement text before it is a pattern: `$` refers to a group, `\` is eaten (seen on 483). */
function newUser(fields: RuleFieldReader): string | undefined {
  const pattern = fields.pattern('new_user');
  if (pattern === undefined || !/[$\\]/.test(pattern)) return pattern;
  const message = '"new_user" holds $ or \\, which the engine reads as a replacement text before it is a pattern';
  fields.fault('rules-new-user-unsafe', message, fields.place('new_user'));
  return undefined;
}

function readColumns(fields: RuleFieldReader, faults: RuleFault[]): ColumnRule[] | undefined {
  const seen = new Set<string>();
  return fields.items('columns')?.flatMap((item) => {
    if (item.kind !== 'object') {
      faults.push({ code: 'rules-wrong-type', message: 'a column must be an object', at: item.at });
      return [];
    }
    const column = new RuleFieldReader(item, ['name', 'allow', 'mask'], faults);
    const name = column.required('name', column.text('name'), '');
    if (name !== name.toLowerCase()) {
      column.fault('rules-column-case', `the engine's column names are lower-case: "${name}" never matches`, item);
    }
    if (seen.has(name)) column.fault('rules-column-repeated', `the column "${name}" stands twice`, item);
    seen.add(name);
    const allow = column.boolean('allow');
    const mask = column.expression('mask');
    return [{ name, ...(allow !== undefined && { allow }), ...(mask !== undefined && { mask }) }];
  });
}
