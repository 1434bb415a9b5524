import { isUtf8 } from 'node:buffer';
import { Document, isNode, isScalar, Lexer, parseAllDocuments, visit } from 'yaml';
import { readJson } from '../kernel/json-reader.js';
import { TextPositions } from '../trino-rules/document/finding.js';
import type { SnapshotProblem } from '../trino-rules/model/snapshot-decoder.js';
import { decodeFile } from './check/decode.js';
import { readInputFile } from '../platform/files/input-file.js';
import { YAML_MAX_BYTES } from './files.js';
import { escapeControlCharacters, toPrintable, printRemark, UnusableInput } from './output.js';

const MB = 1_000_000;
/** The most bytes of a file. An export of 1,000,000 grants has 330 MB, and a JavaScript text at most 512 MB. */
const MAX_BYTES = { JSON: 400 * MB, YAML: YAML_MAX_BYTES };

/** The most values of a file. They take about 4 GB of memory if each is one character. */
const MAX_VALUES = 25_000_000;
const MAX_SHOWN_PROBLEMS = 100;
const MAX_SHOWN_CHARS = 250;

/** Reads a JSON file (it begins with `[`, or with `{` and a quotation mark) or a YAML file. @throws UnusableInput with every problem */
export function readStructured(file: string): unknown {
  const refusal = (message: string): UnusableInput => new UnusableInput(problemLines(file, [{ path: '', message }]));
  const input = readInputFile(file, MAX_BYTES.JSON);
  if (input.kind === 'refused') throw refusal(input.reason);
  const { bytes } = input;
  const format = isJson(bytes) ? 'JSON' : 'YAML';
  if (bytes.length > MAX_BYTES[format])
    throw refusal(
      `has more than the ${MAX_BYTES[format] / MB} MB that are read of YAML; of JSON it is ${MAX_BYTES.JSON / MB} MB`,
    );
  if (!isUtf8(bytes)) {
    const { text, findings } = decodeFile(bytes);
    throw unusableText(file, text, findings.slice(-1));
  }
  const text = new TextDecoder().decode(bytes);
  const { value, faults } = format === 'JSON' ? readJsonText(text) : readYamlText(text);
  if (faults.length > 0) throw unusableText(file, text, faults);
  return value;
}

export function formatOfFile(file: string | undefined): 'json' | 'yaml' {
  return file !== undefined && /[.]ya?ml$/.test(file) ? 'yaml' : 'json';
}

/** The text of a value, which `readStructured` can read. Prints a remark if the text is too large to be read again. */
export function structuredText(value: unknown, format: 'json' | 'yaml', report = printRemark): string {
  if (format === 'json') return escapeControlCharacters(JSON.stringify(value, null, 2));
  const document = new Document(value, { aliasDuplicateObjects: false });
  // Texts with Unicode white space at their ends, or with escapes, must be quoted: otherwise they are not read as they were written.
  visit(document, {
    Scalar: (_, scalar) => {
      if (
        typeof scalar.value === 'string' &&
        (/^\s|\s$|^$/.test(scalar.value) || escapeControlCharacters(scalar.value) !== scalar.value)
      )
        scalar.type = 'QUOTE_DOUBLE';
    },
  });
  const text = escapeControlCharacters(document.toString({ lineWidth: 0 }).replace(/\n$/, ''));
  if (Buffer.byteLength(text) > MAX_BYTES.YAML) report('snapshot apply reads no YAML of this size: write it as JSON');
  return text;
}

/** One line for each problem, with its place in the file. */
export function problemLines(file: string, problems: readonly SnapshotProblem[]): string[] {
  const hiddenCount = problems.length - MAX_SHOWN_PROBLEMS;
  return [
    ...problems
      .slice(0, MAX_SHOWN_PROBLEMS)
      .map(
        ({ path, message }) => `${file}: ${path === '' ? '' : `${shortPrintable(path)} `}${shortPrintable(message)}`,
      ),
    ...(hiddenCount > 0 ? [`${file}: ${hiddenCount} more ${hiddenCount === 1 ? 'problem' : 'problems'}`] : []),
  ];
}

function shortPrintable(text: string): string {
  const shortText = text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text;
  return toPrintable(shortText.replace(/\s+/g, ' '));
}

function unusableText(file: string, text: string, faults: readonly TextFault[]): UnusableInput {
  const positions = new TextPositions(text);
  const placedProblems = faults.map(({ message, at }) => {
    const { line, column } = positions.positionOf(at);
    return { path: `line ${line}, column ${column}:`, message };
  });
  return new UnusableInput(problemLines(file, placedProblems));
}

/** Whether a file is JSON, by its first characters after white space and a byte order mark. */
function isJson(bytes: Buffer): boolean {
  const startText = bytes.subarray(0, 4_096).toString();
  return /^(?:\[|\{\s*(?:["}]|$))/.test(startText.replace(/^\ufeff/, '').trimStart());
}

/** Parses JSON, and reports every fault with its place. Equal keys are a fault, although `JSON.parse` would keep the last. */
function readJsonText(text: string): TextReading {
  const faults = jsonFaults(text);
  return { value: faults.length === 0 ? JSON.parse(text) : null, faults };
}

/** The faults of a JSON text. In a function of its own, so that the memory of the tree is free before the text is parsed again. */
function jsonFaults(text: string): readonly TextFault[] {
  return readJson(text, { maxValues: MAX_VALUES, maxFaults: MAX_SHOWN_PROBLEMS }).faults;
}

interface TextFault {
  message: string;
  at: number;
}

/** A parsed text. `value` is valid only if there are no faults. */
interface TextReading {
  value: unknown;
  faults: readonly TextFault[];
}

/** The most tokens of YAML. Each takes up to 1 kB of memory; 8 MB of an export have 2,900,000. */
const MAX_TOKENS = 3_000_000;

/** Reads one YAML document that JSON could express: keys are distinct texts, and there are no aliases. */
export function readYamlText(text: string): TextReading {
  const refusal = (message: string, at: number): TextReading => ({ value: null, faults: [{ message, at }] });
  const nulOffset = text.indexOf('\0');
  if (nulOffset >= 0) return refusal('a NUL character', nulOffset);
  if (hasTooManyTokens(text)) return refusal(`more than ${MAX_TOKENS} tokens of YAML; write it as JSON`, 0);
  // `uniqueKeys` is off because the library's search for equal keys takes quadratic time.
  const documents = [...parseAllDocuments(text, { prettyErrors: false, logLevel: 'silent', uniqueKeys: false })];
  const [document, secondDocument] = documents;
  if (document === undefined) return { value: null, faults: [] };
  if (secondDocument !== undefined) return refusal('a second document begins', secondDocument.range[0]);
  const { errors, warnings } = document;
  const depthError = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
  if (depthError !== undefined) return refusal('nested too deeply', depthError.pos[0]);
  const faults: TextFault[] = [...errors, ...warnings].map(({ message, pos: [at] }) => ({ message, at }));
  visit(document, {
    Alias: (_, { source, range }) => {
      faults.push({ message: `the alias *${source}: write the value out`, at: range?.[0] ?? 0 });
    },
    Map: (_, { items, range }) => {
      const seenKeys = new Set<string>();
      for (const { key } of items) {
        const addFault = (message: string) => faults.push({ message, at: (isNode(key) ? key.range : range)?.[0] ?? 0 });
        if (!isScalar(key) || typeof key.value !== 'string') addFault('a key must be a string');
        else if (seenKeys.has(key.value)) addFault(`duplicate key "${key.value}"`);
        else seenKeys.add(key.value);
      }
    },
  });
  return { value: faults.length === 0 ? document.toJS() : null, faults };
}

function hasTooManyTokens(text: string): boolean {
  const tokens = new Lexer().lex(text);
  for (let tokenCount = 0; tokenCount <= MAX_TOKENS; tokenCount++) if (tokens.next().done === true) return false;
  return true;
}
