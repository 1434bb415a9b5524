import { getOrInsert } from '../../kernel/collections.js';
import { unitsOf } from '../document/characters.js';
import type { Pattern, PatternPiece } from '../document/pattern.js';
import type { WorkBudget } from '../document/work-budget.js';

/** Numbered names by their code points, so that a pattern finds those it matches without being spelled out. */
export class NameTrie {
  private readonly root = new TrieNode();

  add(name: string, position: number): void {
    let node = this.root;
    for (let at = 0; at < name.length;) {
      const code = name.codePointAt(at) ?? 0;
      node = node.childOrNew(code);
      at += unitsOf(code);
    }
    node.positions.push(position);
  }

  /** The positions of a name. */
  at(name: string): readonly number[] {
    return this.root.below(name)?.positions ?? NONE;
  }

  /**
   * The users that a finite pattern matches. `ways` counts in how many ways it spells their names: a pattern that spells as many
   * names in all (`sizeOf`) matches no other names.
   */
  matching({ options }: Pattern, budget: WorkBudget): { positions: number[]; ways: number } {
    const positions: number[] = [];
    let ways = 0;
    for (const pieces of options) {
      for (const node of walk(pieces, [this.root], budget)) {
        if (node.positions.length > 0) ways++;
        for (const position of node.positions) positions.push(position);
      }
    }
    return { positions, ways };
  }
}

class TrieNode {
  readonly positions: number[] = [];
  private readonly children = new Map<number, TrieNode>();

  childOrNew(character: number): TrieNode {
    return getOrInsert(this.children, character, () => new TrieNode());
  }

  // oxlint-disable-next-line typescript/prefer-return-this-type -- another node, unless the text is empty
  below(text: string): TrieNode | undefined {
    if (text === '') return this;
    const first = text.codePointAt(0) ?? 0;
    let node = this.children.get(first);
    for (let at = unitsOf(first); node !== undefined && at < text.length;) {
      const code = text.codePointAt(at) ?? 0;
      node = node.children.get(code);
      at += unitsOf(code);
    }
    return node;
  }
}

/** Nodes that a sequence leads to, once for each way. */
function walk(pieces: readonly PatternPiece[], from: readonly TrieNode[], budget: WorkBudget): readonly TrieNode[] {
  let nodes = from;
  for (const piece of pieces) {
    if (nodes.length === 0) break;
    nodes = step(piece, nodes, budget);
  }
  return nodes;
}

function step(piece: PatternPiece, from: readonly TrieNode[], budget: WorkBudget): readonly TrieNode[] {
  switch (piece.kind) {
    case 'literal':
      return below(from, piece.text, budget);
    case 'class':
      return Array.from(piece.oneOf).flatMap((character) => below(from, character, budget));
    case 'set':
      return piece.characters.ranges.flatMap(({ min, max }) =>
        Array.from({ length: max - min + 1 }, (_, i) => below(from, String.fromCodePoint(min + i), budget)).flat(),
      );
    case 'repeated': {
      let last = from;
      const reached: TrieNode[] = [];
      for (let n = 0; n <= piece.max && last.length > 0; n++) {
        if (n >= piece.min) reached.push(...last);
        if (n < piece.max) last = step(piece.piece, last, budget);
      }
      return reached;
    }
    case 'choice':
      return piece.options.flatMap((option) => walk(option, from, budget));
    case 'optional':
      return [...from, ...step(piece.piece, from, budget)];
    case 'rest':
      throw new RangeError('a pattern with .* is not finite');
  }
}

function below(from: readonly TrieNode[], text: string, budget: WorkBudget): TrieNode[] {
  budget.spend(from.length * text.length);
  const nodes: TrieNode[] = [];
  for (const node of from) {
    const found = node.below(text);
    if (found) nodes.push(found);
  }
  return nodes;
}

const NONE: readonly number[] = [];
