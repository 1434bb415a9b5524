/** Names of a catalog and a schema: what stands below is a table. */
const DEEPEST = 2;

/**
 * What a search of the tree asks for: a path such as `sales.eu.ord` leads down from everything, a name without dots is sought
 * below the node that is open.
 * @returns the node whose children are searched, and the part of a name
 */
export function treeSearch(open: readonly string[], text: string): { under: readonly string[]; part: string } {
  const names = text.split('.').map((name) => name.trim());
  const part = names.pop() ?? '';
  const isPath = names.length > 0 && names.length <= DEEPEST && !names.includes('');
  return isPath ? { under: names, part } : { under: open.slice(0, DEEPEST), part: text };
}
