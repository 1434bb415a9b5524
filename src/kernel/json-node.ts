/** A JSON value; `at` is the UTF-16 offset of its first character. */
export type JsonNode =
  | { kind: 'object'; at: number; members: JsonMember[] }
  | { kind: 'array'; at: number; items: JsonNode[] }
  | { kind: 'string'; at: number; value: string }
  | { kind: 'number'; at: number; text: string }
  | { kind: 'boolean'; at: number; value: boolean }
  | { kind: 'null'; at: number };

export interface JsonMember {
  key: string;
  at: number;
  value: JsonNode;
}

/** The value as `JSON.parse` makes it; of equal keys the last counts. */
export function plainValue(node: JsonNode & { kind: 'object' }): object;
export function plainValue(node: JsonNode): unknown;
export function plainValue(node: JsonNode): unknown {
  switch (node.kind) {
    case 'object':
      return Object.fromEntries(node.members.map(({ key, value }) => [key, plainValue(value)]));
    case 'array':
      return node.items.map(plainValue);
    case 'number':
      return Number(node.text);
    case 'null':
      return null;
    case 'string':
    case 'boolean':
      return node.value;
  }
}
