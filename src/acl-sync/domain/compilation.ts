import { compile, type CompiledRules } from '../../trino-rules/compile/compile.js';
import { RulesTooLarge, type RulesUnderParent } from '../../trino-rules/compile/text-size.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import { checkSize } from '../../trino-rules/document/target-capacity.js';
import { nodeText } from '../../trino-rules/model/node.js';
import type { Snapshot, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';

/** The work was ended as soon as it was certain. `bytes`: at least. */
export interface TooLarge {
  kind: 'too-large';
  bytes: number;
  finding: Finding;
}

export type Compilation = { kind: 'compiled'; rules: CompiledRules } | TooLarge;

/** Compiles for a target. @param limit in bytes; null: it has none */
export function compileFor(snapshot: Snapshot, limit: number | null): Compilation {
  try {
    return { kind: 'compiled', rules: compile(snapshot, limit ?? Infinity) };
  } catch (error) {
    if (!(error instanceof RulesTooLarge)) throw error;
    return { kind: 'too-large', bytes: error.atLeast, finding: overflow(error, limit ?? 0, snapshot.policies) };
  }
}

function overflow({ atLeast, most }: RulesTooLarge, limit: number, policies: readonly SnapshotPolicy[]): Finding {
  const [size] = checkSize(atLeast, limit, 'at least');
  return {
    code: 'too-large',
    severity: 'error',
    message: `${size?.message ?? ''}. At least ${causeOf(most, policies)}`,
  };
}

/** The finding with its cause, where rules were too many to be proved. */
export function explainedUndecided(
  finding: Finding,
  largest: RulesUnderParent,
  policies: readonly SnapshotPolicy[],
): Finding {
  // With a rule it is about the patterns of that rule alone.
  if (finding.code !== 'proof-undecided' || finding.rule !== undefined) return finding;
  return { ...finding, message: `${finding.message}. ${causeOf(largest, policies)}` };
}

/** Where the rules are, and which policies make so many of them. */
function causeOf({ where, rules }: RulesUnderParent, policies: readonly SnapshotPolicy[]): string {
  const own = policies.filter(({ kind, resource }) => kind !== 'deny' && meets(nodeText(resource), where));
  const place = where === '' ? '' : ` in ${where}`;
  const counted = `${rules} rules are needed${place}, one for each combination of privileges, filters, masks and hidden columns`;
  const cause =
    own.length === 0
      ? ''
      : `; ${own.length} policies make them (${idsOf(own)}): let fewer of them reach the same people, or write one for everybody whose ` +
        'expression asks for current_user';
  return `${counted}${cause}`;
}

/** One lies in the other. */
function meets(a: string, b: string): boolean {
  return a === b || b === '' || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
}

const MOST_NAMED = 10;

function idsOf(policies: readonly SnapshotPolicy[]): string {
  const ids = policies.slice(0, MOST_NAMED).map(({ id }) => id);
  return `ids ${ids.join(', ')}${policies.length > MOST_NAMED ? ' …' : ''}`;
}
