import { compile } from '../compile/compile.js';
import { type AccessDiff, type AccessDifference, diffAccess } from '../diff/access-diff.js';
import type { RulesDocument } from '../document/rules-document.js';
import { conjuncts } from '../engine/actual-access.js';
import type { Snapshot, SnapshotSettings } from '../model/snapshot.js';
import { importRules } from './import-rules.js';
import { withoutParentheses } from './node-outcome.js';

export interface ProvenImport {
  snapshot: Snapshot;
  /** What the users would gain and lose by the compiled snapshot: what grants cannot say. */
  differences: AccessDiff;
  /** What comes with any access, whatever the document says: executing queries, `system.jdbc` and `system.metadata`. */
  basicAccess: AccessDifference[];
}

/** Imports rules, compiles what came out, and compares both for these users on every node that either names. */
export function provenImport(
  document: RulesDocument,
  names: readonly string[],
  defaults: { settings: SnapshotSettings; at: Date },
): ProvenImport {
  const snapshot = importRules(document, names, defaults);
  const { gained, lost } = diffAccess(comparable(document), comparable(compile(snapshot).document));
  const listed = new Set(names);
  const ofListed = (differences: readonly AccessDifference[]) =>
    differences
      .map((each) => ({ ...each, people: each.people.filter((name) => listed.has(name)), strangers: [] }))
      .filter(({ people }) => people.length > 0);
  const isBasic = ({ fact }: AccessDifference) =>
    fact.about === 'queries' || ('resource' in fact && fact.resource.catalog === 'system');
  const more = ofListed(gained).filter(isPossible);
  return {
    snapshot,
    differences: { gained: more.filter((each) => !isBasic(each)), lost: ofListed(lost).filter(isPossible) },
    basicAccess: more.filter(isBasic),
  };
}

/** Whether the engine can have an object of this name: it writes names in lower case, and none is empty. */
function isPossible({ fact }: AccessDifference): boolean {
  if (!('resource' in fact)) return true;
  const { catalog, schema, table } = fact.resource;
  return [catalog, schema, table].every((name) => name === undefined || (name !== '' && name === name.toLowerCase()));
}

/** Filters as sets of expressions: a compiled one has parentheses around each. */
function comparable(document: RulesDocument): RulesDocument {
  const tables = document.tables.map((rule) =>
    rule.filter === undefined
      ? rule
      : {
          ...rule,
          filter: conjuncts(rule.filter)
            .map((conjunct) => `(${withoutParentheses(conjunct)})`)
            .join(' AND '),
        },
  );
  return { ...document, tables };
}
