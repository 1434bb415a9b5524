import type { FunctionRule, ProcedureRule } from '../document/rules-document.js';
import type { Bitset } from './bitset.js';
import type { RoutineKind } from './engine-terms.js';
import type { IntentSets, NamedNode } from './intent-sets.js';
import { literal } from './name-pattern.js';
import { type RightSibling, type Steps, withRights } from './schema-rules.js';
import type { SiblingRule, SiblingRules } from './sibling-rules.js';

/** What users may run, and pass on: routines of a schema first, then schemas, then catalogs, then everything. Never OWNERSHIP. */
export function functionRules(intent: IntentSets, write: SiblingRules): FunctionRule[] {
  return routineRules('function', intent, write);
}

/** What users may call. */
export function procedureRules(intent: IntentSets, write: SiblingRules): ProcedureRule[] {
  return routineRules('procedure', intent, write);
}

interface Runs {
  privileges: ('EXECUTE' | 'GRANT_EXECUTE')[];
}

/** The engine lets those execute a function who may pass it on. */
const STEPS: Readonly<Record<RoutineKind, Steps<Runs>>> = {
  function: {
    none: { privileges: [] },
    steps: [
      { right: 'function', effect: { privileges: ['EXECUTE'] } },
      { right: 'passing-function', effect: { privileges: ['GRANT_EXECUTE'] } },
    ],
  },
  procedure: { none: { privileges: [] }, steps: [{ right: 'procedure', effect: { privileges: ['EXECUTE'] } }] },
};

function routineRules(
  kind: RoutineKind,
  { principals, root, hasRoutines }: IntentSets,
  write: SiblingRules,
): (SiblingRule & Runs)[] {
  if (!hasRoutines) return [];
  const routines: (SiblingRule & Runs)[] = [];
  const schemas: (SiblingRule & Runs)[] = [];
  const siblingOf = (node: NamedNode, above: readonly Bitset[]): RightSibling<Runs> =>
    withRights(STEPS[kind], node, above, principals);
  const everything = siblingOf(root, []);
  const catalogs = [...root.children()].map((catalog) => {
    const here = siblingOf(catalog, everything.held);
    const below = [...catalog.children()].map((schema) => {
      const inSchema = siblingOf(schema, here.held);
      const ofSchema = [...schema.routines()].map((routine) => siblingOf(routine, inSchema.held));
      const where = { catalog: literal(catalog.name), schema: literal(schema.name) };
      routines.push(...write.of(ofSchema, kind, where));
      return inSchema;
    });
    schemas.push(...write.of(below, 'schema', { catalog: literal(catalog.name) }));
    return here;
  });
  return [...routines, ...schemas, ...write.of(catalogs, 'catalog', {}), ...write.of([everything], 'everything', {})];
}
