import type { FunctionRule, ProcedureRule } from '../document/rules-document.js';
import type { Bitset } from './bitset.js';
import type { RoutineRight } from './engine-terms.js';
import type { IntentSets, NamedNode } from './intent-sets.js';
import { literal } from './name-pattern.js';
import type { Sibling } from './rectangles.js';
import { withRight } from './schema-rules.js';
import type { SiblingRule, SiblingRules } from './sibling-rules.js';

/** What users may run: routines of a schema first, then schemas, then catalogs, then everything. Never GRANT_EXECUTE or OWNERSHIP. */
export function functionRules(intent: IntentSets, write: SiblingRules): FunctionRule[] {
  return routineRules('function', intent, write);
}

/** The same of procedures. */
export function procedureRules(intent: IntentSets, write: SiblingRules): ProcedureRule[] {
  return routineRules('procedure', intent, write);
}

interface Runs {
  privileges: 'EXECUTE'[];
}

function routineRules(
  right: RoutineRight,
  { principals, root, hasRoutines }: IntentSets,
  write: SiblingRules,
): (SiblingRule & Runs)[] {
  if (!hasRoutines) return [];
  const routines: (SiblingRule & Runs)[] = [];
  const schemas: (SiblingRule & Runs)[] = [];
  const siblingOf = (node: NamedNode, above: Bitset): Sibling<Runs> =>
    withRight(right, node, above, principals, (runs) => ({ privileges: runs ? ['EXECUTE'] : [] }));
  const everything = siblingOf(root, principals.none);
  const catalogs = [...root.children()].map((catalog) => {
    const here = siblingOf(catalog, everything.holders);
    const below = [...catalog.children()].map((schema) => {
      const inSchema = siblingOf(schema, here.holders);
      const ofSchema = [...schema.routines()].map((routine) => siblingOf(routine, inSchema.holders));
      const where = { catalog: literal(catalog.name), schema: literal(schema.name) };
      routines.push(...write.of(ofSchema, right, where));
      return inSchema;
    });
    schemas.push(...write.of(below, 'schema', { catalog: literal(catalog.name) }));
    return here;
  });
  return [...routines, ...schemas, ...write.of(catalogs, 'catalog', {}), ...write.of([everything], 'everything', {})];
}
