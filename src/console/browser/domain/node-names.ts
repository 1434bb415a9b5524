/** Names of a node of the tree, from the top; what is empty means all. */
export interface NodeNames {
  catalog: string;
  schema: string;
  table: string;
}

export const NO_NAMES: NodeNames = { catalog: '', schema: '', table: '' };

/** The node that names stand for. */
export function nodeOfNames({ catalog, schema, table }: NodeNames) {
  if (catalog === '') return {};
  if (schema === '') return { catalog };
  return table === '' ? { catalog, schema } : { catalog, schema, table };
}
