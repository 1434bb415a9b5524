import { isNode, isScalar, Lexer, parseAllDocuments, visit } from 'yaml';

/** One thing that is wrong, at an offset of the text. */
export interface TextFault {
  message: string;
  at: number;
}

/** The value counts only without faults. */
export interface TextReading {
  value: unknown;
  faults: readonly TextFault[];
}

/** Each takes up to 1 kB; 8 MB of an export have 2,900,000. */
const MAX_TOKENS = 3_000_000;

/** Reads one YAML document whose values are those of JSON: keys are texts and different, nothing stands in two places. */
export function readYamlText(text: string): TextReading {
  const refused = (message: string, at: number): TextReading => ({ value: null, faults: [{ message, at }] });
  const nul = text.indexOf('\0');
  if (nul >= 0) return refused('a NUL character', nul);
  if (hasTooManyTokens(text)) return refused(`more than ${MAX_TOKENS} tokens of YAML; write it as JSON`, 0);
  // The library's own search for equal keys takes the square of their number.
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
