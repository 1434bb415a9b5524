/** The parts of a node's name, such as catalog, schema and table; none: everything. */
export function namesOf(node: object): string[] {
  const { catalog, schema, table, routine, engine, as } = node as Record<string, unknown>;
  if (engine === true) return ['the engine'];
  if (as !== undefined) return [`acting as ${nameOfPrincipal(as)}`];
  return [catalog, schema, table, routine].filter((name) => typeof name === 'string');
}

function nameOfPrincipal(principal: unknown): string {
  const { name, id, type } = principal as { name?: string; id?: number; type: string };
  return name ?? (type === 'everyone' ? 'Everyone' : `${type} ${id ?? ''}`);
}

/** *sales.eu.orders*, *everything*. */
export function pathText(node: object): string {
  return namesOf(node).join('.') || 'everything';
}

/** The page of a node: of a routine its schema's, of the engine and of acting its own. */
export function addressOfNode(node: object): string {
  const { catalog, schema, table, engine, as } = node as Record<string, unknown>;
  if (engine === true || as !== undefined) return '/engine';
  const names = [catalog, schema, table].filter((name) => typeof name === 'string');
  return ['/data', ...names.map(encodeURIComponent)].join('/');
}
