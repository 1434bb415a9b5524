import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type ParsedNode,
  Scalar,
  visit,
} from 'yaml';
import type { PlacedFinding } from '../../rules-files/check/placed-finding.js';
import { embeddedText, type Style } from './embedded-text.js';
import type { ManifestNode } from './manifest-node.js';

/** How often the aliases of a document are followed; Kubernetes refuses far fewer, since each can multiply the others. */
const MAX_EXPANSIONS = 100_000;

/** The values of one YAML document. */
export class YamlValues {
  /** Of aliases; more are found while values are read. */
  readonly faults: PlacedFinding[] = [];
  private readonly targets = new Map<Alias, Node>();
  private expansions = 0;

  constructor(
    document: Document<ParsedNode>,
    private readonly file: string,
  ) {
    const anchors = new Map<string, Node>();
    visit(document, {
      Node: (_, node) => {
        if (!isAlias(node)) {
          if (node.anchor !== undefined) anchors.set(node.anchor, node);
          return;
        }
        const target = anchors.get(node.source);
        if (target !== undefined) this.targets.set(node, target);
        else this.refuse(`the alias *${node.source} has no anchor before it`, node);
      },
    });
  }

  read(node: unknown): ManifestNode {
    if (isAlias(node)) return this.expand(node);
    if (isMap(node)) {
      return {
        kind: 'map',
        at: startOf(node),
        entries: () =>
          node.items.map(({ key, value }) => ({
            key: isScalar(key) ? String(key.value) : '',
            at: isScalar(key) ? startOf(key) : startOf(node),
            value: this.read(value),
          })),
      };
    }
    if (isSeq(node)) return { kind: 'list', at: startOf(node), items: () => node.items.map((item) => this.read(item)) };
    if (!isScalar(node)) return { kind: 'other', at: 0, value: null };
    const at = startOf(node);
    if (typeof node.value !== 'string') return { kind: 'other', at, value: node.value };
    const style = STYLES[node.type ?? ''] ?? 'plain';
    return { kind: 'text', at, value: embeddedText(node.value, this.file, firstCharacter(node, this.file), style) };
  }

  private expand(alias: Alias): ManifestNode {
    const target = this.targets.get(alias);
    if (target !== undefined && this.expansions < MAX_EXPANSIONS) {
      this.expansions += 1;
      return this.read(target);
    }
    if (this.expansions++ === MAX_EXPANSIONS) this.refuse('the aliases of this document multiply without end', alias);
    return { kind: 'other', at: startOf(alias), value: null };
  }

  private refuse(message: string, node: Node): void {
    this.faults.push({ code: 'manifest-syntax', message, at: startOf(node) });
  }
}

const STYLES: Readonly<Record<string, Style>> = {
  [Scalar.QUOTE_DOUBLE]: 'escaped',
  [Scalar.QUOTE_SINGLE]: 'single-quoted',
};

function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}

/** Behind a quote, or behind the line of a block's `|` or `>`. */
function firstCharacter(node: Scalar, file: string): number {
  const at = startOf(node);
  if (node.type === Scalar.BLOCK_LITERAL || node.type === Scalar.BLOCK_FOLDED) return file.indexOf('\n', at) + 1;
  return node.type === Scalar.PLAIN ? at : at + 1;
}
