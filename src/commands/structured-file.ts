import { isUtf8 } from 'node:buffer';
import { Document, isNode, isScalar, Lexer, parseAllDocuments, visit } from 'yaml';
import { readJson } from '../kernel/json-reader.js';
import { TextPositions } from '../trino-rules/document/finding.js';
import type { SnapshotProblem } from '../trino-rules/model/snapshot-decoder.js';
import { decodeFile } from './check/decode.js';
import { readInputFile } from '../platform/files/input-file.js';
import { YAML_MAX_BYTES } from './files.js';
import { escaped, printable, remark, Unusable } from './output.js';

const MB = 1_000_000;
/** The most bytes. An export of 1,000,000 grants has 330 MB, and a JavaScript text at most 512 MB. */
const MAX_BYTES = { JSON: 400 * MB, YAML: YAML_MAX_BYTES };

/** The most values, which take about 4 GB of memory if each is one character. */
const MAX_VALUES = 25_000_000;
const MOST_SHOWN = 100;
const LONGEST_SHOWN = 250;

/** Reads a JSON file (it begins with `[`, or with `{` and a quotation mark) or a YAML file. @throws Unusable with every problem */
export function readStructured(file: string): unknown {
  const refused = (message: string): Unusable => new Unusable(problemLines(file, [{ path: '', message }]));
  const read = readInputFile(file, MAX_BYTES.JSON);
  if (read.kind === 'refused') throw refused(read.reason);
  const { bytes } = read;
  const format = isJson(bytes) ? 'JSON' : 'YAML';
  if (bytes.length > MAX_BYTES[format])
    throw refused(
      `has more than the ${MAX_BYTES[format] / MB} MB that are read of YAML; of JSON it is ${MAX_BYTES.JSON / MB} MB`,
    );
  if (!isUtf8(bytes)) {
    const { text, findings } = decodeFile(bytes);
    throw faulty(file, text, findings.slice(-1));
  }
  const text = new TextDecoder().decode(bytes);
  const { value, faults } = format === 'JSON' ? readJsonText(text) : readYamlText(text);
  if (faults.length > 0) throw faulty(file, text, faults);
  return value;
}

/** The format by the name of the file to write. */
export function formatNamed(file: string | undefined): 'json' | 'yaml' {
  return file !== undefined && /[.]ya?ml$/.test(file) ? 'yaml' : 'json';
}

/** The text of a value, for `readStructured`. Remarks if the text is too large to be read again. */
export function structuredText(value: unknown, format: 'json' | 'yaml', report = remark): string {
  if (format === 'json') return escaped(JSON.stringify(value, null, 2));
  const document = new Document(value, { aliasDuplicateObjects: false });
  // Texts with Unicode white space at their ends, or with escapes, must be quoted: otherwise they are not read as they were written.
  visit(document, {
    Scalar: (_, scalar) => {
      if (
        typeof scalar.value === 'string' &&
        (/^\s|\s$|^$/.test(scalar.value) || escaped(scalar.value) !== scalar.value)
      )
        scalar.type = 'QUOTE_DOUBLE';
    },
  });
  const text = escaped(document.toString({ lineWidth: 0 }).replace(/\n$/, ''));
  if (Buffer.byteLength(text) > MAX_BYTES.YAML) report('snapshot apply reads no YAML of this size: write it as JSON');
  return text;
}

/** One line for each problem, with its place in the file. */
export function problemLines(file: string, problems: readonly SnapshotProblem[]): string[] {
  const others = problems.length - MOST_SHOWN;
  return [
    ...problems
      .slice(0, MOST_SHOWN)
      .map(({ path, message }) => `${file}: ${path === '' ? '' : `${shown(path)} `}${shown(message)}`),
    ...(others > 0 ? [`${file}: ${others} more ${others === 1 ? 'problem' : 'problems'}`] : []),
  ];
}

/** Makes text that contains keys and names of the file printable on one line. */
function shown(text: string): string {
  const short = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
  return printable(short.replace(/\s+/g, ' '));
}

function faulty(file: string, text: string, faults: readonly TextFault[]): Unusable {
  const positions = new TextPositions(text);
  const placed = faults.map(({ message, at }) => {
    const { line, column } = positions.of(at);
    return { path: `line ${line}, column ${column}:`, message };
  });
  return new Unusable(problemLines(file, placed));
}

/** Whether a file is JSON, by its first characters after white space and a byte order mark. */
function isJson(bytes: Buffer): boolean {
  const start = bytes.subarray(0, 4_096).toString();
  return /^(?:\[|\{\s*(?:["}]|$))/.test(start.replace(/^\ufeff/, '').trimStart());
}

/** Reports every fault with its place, also equal keys, of which `JSON.parse` would keep the last. */
function readJsonText(text: string): TextReading {
  const faults = jsonFaults(text);
  return { value: faults.length === 0 ? JSON.parse(text) : null, faults };
}

/** A separate function, so that its tree can be collected before the text is parsed again. */
function jsonFaults(text: string): readonly TextFault[] {
  return readJson(text, { maxValues: MAX_VALUES, maxFaults: MOST_SHOWN }).faults;
}

/** A problem at an offset of the text. */
interface TextFault {
  message: string;
  at: number;
}

/** `value` is valid only without faults. */
interface TextReading {
  value: unknown;
  faults: readonly TextFault[];
}

/** The most tokens of YAML. Each takes up to 1 kB of memory; 8 MB of an export have 2,900,000. */
const MAX_TOKENS = 3_000_000;

/** Reads one YAML document that JSON could express: keys are distinct texts, and there are no aliases. */
export function readYamlText(text: string): TextReading {
  const refused = (message: string, at: number): TextReading => ({ value: null, faults: [{ message, at }] });
  const nul = text.indexOf('\0');
  if (nul >= 0) return refused('a NUL character', nul);
  if (hasTooManyTokens(text)) return refused(`more than ${MAX_TOKENS} tokens of YAML; write it as JSON`, 0);
  // `uniqueKeys` is off because the library's search for equal keys takes quadratic time.
  const documents = [...parseAllDocuments(text, { prettyErrors: false, logLevel: 'silent', uniqueKeys: false })];
  const [document, second] = documents;
  if (document === undefined) return { value: null, faults: [] };
  if (second !== undefined) return refused('a second document begins', second.range[0]);
  const { errors, warnings } = document;
  const deep = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
  if (deep !== undefined) return refused('nested too deeply', deep.pos[0]);
  const faults: TextFault[] = [...errors, ...warnings].map(({ message, pos: [at] }) => ({ message, at }));
  visit(document, {
    Alias: (_, { source, range }) => {
      faults.push({ message: `the alias *${source}: write the value out`, at: range?.[0] ?? 0 });
    },
    Map: (_, { items, range }) => {
      const seen = new Set<string>();
      for (const { key } of items) {
        const at = (isNode(key) ? key.range : range)?.[0] ?? 0;
        if (!isScalar(key) || typeof key.value !== 'string') faults.push({ message: 'a key must be a string', at });
        else if (seen.has(key.value)) faults.push({ message: `duplicate key "${key.value}"`, at });
        else seen.add(key.value);
      }
    },
  });
  return { value: faults.length === 0 ? document.toJS() : null, faults };
}

function hasTooManyTokens(text: string): boolean {
  const tokens = new Lexer().lex(text);
  for (let count = 0; count <= MAX_TOKENS; count++) if (tokens.next().done === true) return false;
  return true;
}
