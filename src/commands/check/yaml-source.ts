import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  parseAllDocuments,
  type ParsedNode,
  Scalar,
  visit,
} from 'yaml';
import type { PlacedFinding } from '../../rules-files/check/checks.js';
import { type EmbeddedText, embeddedText, type ManifestNode, type TextStyle } from './manifest-node.js';
import { type ManifestReading, type ReadEmbedded, readManifests } from './manifest.js';

export function readYaml(text: string): ManifestReading {
  const { roots, findings } = readDocuments({ text, toFile: (offset) => offset });
  const reading = readManifests(roots, readDocuments);
  return { rules: reading.rules, findings: [...findings(), ...reading.findings] };
}

/** The YAML documents of a text. `findings` must be called last, because faults of aliases are found while values are read. */
export function readDocuments(source: EmbeddedText): ReturnType<ReadEmbedded> {
  const documents = [...parseAllDocuments(source.text, { prettyErrors: false, logLevel: 'silent' })];
  const syntaxFindings = documents.flatMap(({ errors }) =>
    errors.map(({ message, code, pos: [at] }): PlacedFinding => {
      const text = code === 'RESOURCE_EXHAUSTION' ? 'nested too deeply' : message;
      return { code: 'manifest-syntax', message: text, at: source.toFile(at) };
    }),
  );
  const documentReadings = documents.map((document) => ({ document, values: new YamlValues(document, source) }));
  const roots = documentReadings.flatMap(({ document, values }) =>
    document.contents === null ? [] : [values.readNode(document.contents)],
  );
  return { roots, findings: () => [...syntaxFindings, ...documentReadings.flatMap(({ values }) => values.faults)] };
}

/** The most expansions of aliases in a document, because each can multiply the others. Kubernetes' limit is far lower. */
const MAX_EXPANSIONS = 100_000;

class YamlValues {
  /** Faults of aliases, and faults found while values are read. */
  readonly faults: PlacedFinding[] = [];
  private readonly aliasTargets = new Map<Alias, Node>();
  private expansions = 0;

  constructor(
    document: Document<ParsedNode>,
    private readonly source: EmbeddedText,
  ) {
    const anchors = new Map<string, Node>();
    visit(document, {
      Node: (_, node) => {
        if (!isAlias(node)) {
          if (node.anchor !== undefined) anchors.set(node.anchor, node);
          return;
        }
        const target = anchors.get(node.source);
        if (target !== undefined) this.aliasTargets.set(node, target);
        else this.addFault(`the alias *${node.source} has no anchor before it`, node);
      },
    });
  }

  readNode(node: unknown): ManifestNode {
    if (isAlias(node)) return this.expandAlias(node);
    if (isMap(node)) {
      return {
        kind: 'map',
        at: this.offsetOf(node),
        entries: () =>
          node.items.map(({ key, value }) => ({
            key: isScalar(key) ? String(key.value) : '',
            at: this.offsetOf(isScalar(key) ? key : node),
            value: this.readNode(value),
          })),
      };
    }
    if (isSeq(node))
      return { kind: 'list', at: this.offsetOf(node), items: () => node.items.map((item) => this.readNode(item)) };
    if (!isScalar(node)) return { kind: 'other', at: 0, value: null };
    const at = this.offsetOf(node);
    if (typeof node.value !== 'string') return { kind: 'other', at, value: node.value };
    const style = STYLE_BY_TYPE[node.type ?? ''] ?? 'plain';
    const { source } = this;
    const innerText = embeddedText(node.value, source.text, firstOffset(node, source.text), style);
    return {
      kind: 'text',
      at,
      value: { text: innerText.text, toFile: (offset) => source.toFile(innerText.toFile(offset)) },
    };
  }

  private expandAlias(alias: Alias): ManifestNode {
    const target = this.aliasTargets.get(alias);
    if (target !== undefined && this.expansions < MAX_EXPANSIONS) {
      this.expansions += 1;
      return this.readNode(target);
    }
    if (this.expansions++ === MAX_EXPANSIONS) this.addFault('the aliases of this document multiply without end', alias);
    return { kind: 'other', at: this.offsetOf(alias), value: null };
  }

  private offsetOf(node: Node): number {
    return this.source.toFile(startOffset(node));
  }

  private addFault(message: string, node: Node): void {
    this.faults.push({ code: 'manifest-syntax', message, at: this.offsetOf(node) });
  }
}

const STYLE_BY_TYPE: Readonly<Record<string, TextStyle>> = {
  [Scalar.QUOTE_DOUBLE]: 'escaped',
  [Scalar.QUOTE_SINGLE]: 'single-quoted',
};

function startOffset(node: Node): number {
  return node.range?.[0] ?? 0;
}

/** The offset of a text's first character: after its quote, or after the line with the block's `|` or `>`. */
function firstOffset(node: Scalar, file: string): number {
  const nodeStart = startOffset(node);
  if (node.type === Scalar.BLOCK_LITERAL || node.type === Scalar.BLOCK_FOLDED) return file.indexOf('\n', nodeStart) + 1;
  return node.type === Scalar.PLAIN ? nodeStart : nodeStart + 1;
}
