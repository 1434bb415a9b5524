import { foldedName, nameProblem, resourceNameProblem } from '../../kernel/name.js';
import {
  type Guarantee,
  GUARANTEE_KINDS,
  GUARANTEE_MODES,
  type GuaranteeKind,
  type GuaranteeScope,
} from './guarantee.js';
import { compareNames, isInTree, withNamed } from './node.js';
import type { PolicyPrincipal } from './principal.js';
import { combined, type Privilege, PRIVILEGE_TERMS, PRIVILEGES, privilegesOn } from './privilege.js';
import { join, type SnapshotDecoder } from './snapshot-decoder.js';
import type { SnapshotNames, SnapshotRows } from './snapshot-rows.js';

/** Reads a guarantee of a snapshot file; problems are noted in `form`. */
export class GuaranteeReader {
  /** Names read so far, folded. */
  private readonly taken = new Set<string>();

  constructor(
    private readonly form: SnapshotDecoder,
    private readonly names: SnapshotNames,
    private readonly rows: SnapshotRows,
  ) {}

  /** @param id of the row; in a body or a file without ids, any */
  guarantee(value: unknown, path: string, id: number): Guarantee {
    const { form } = this;
    const { kind: given } = typeof value === 'object' && value !== null && 'kind' in value ? value : { kind: null };
    const kind = form.oneOf(given, join(path, 'kind'), GUARANTEE_KINDS) ?? 'never';
    const row = form.object(value, path, [...COMMON, ...FIELDS[kind]]) as Record<string, unknown>;
    const name = form.text(row['name'], join(path, 'name'), titleProblem);
    const key = foldedName(name);
    if (this.taken.has(key)) form.refuse(join(path, 'name'), 'is the name of another guarantee');
    this.taken.add(key);
    const mode = row['mode'] === undefined ? 'enforced' : form.oneOf(row['mode'], join(path, 'mode'), GUARANTEE_MODES);
    if (row['description'] !== undefined && row['description'] !== null)
      form.string(row['description'], join(path, 'description'));
    const principalAt = (item: unknown, at: string): PolicyPrincipal => this.names.policyPrincipal(item, at);
    const isForAll = kind === 'only' || (row['principal'] === undefined && (kind === 'apart' || kind === 'at_most'));
    const principal = isForAll
      ? ({ type: 'everyone' } as const)
      : principalAt(row['principal'], join(path, 'principal'));
    const others = kind === 'only' ? 'principals' : 'except';
    const except = form.list(row[others] ?? [], join(path, others), principalAt);
    if (except.length > EXCEPTIONS_MOST)
      form.refuse(join(path, others), `must have at most ${EXCEPTIONS_MOST} entries`);
    if (kind === 'only' && except.length === 0)
      form.refuse(join(path, 'principals'), 'must name at least one principal');
    const scopes =
      kind === 'apart'
        ? ['first', 'second'].map((each) =>
            this.scope(form.object(row[each], join(path, each), SCOPE), join(path, each)),
          )
        : [this.scope(row, path)];
    const count = kind === 'at_most' ? this.count(row['count'], path) : 0;
    return { id, name, kind, mode: mode ?? 'enforced', principal, except, scopes, count };
  }

  private scope(fields: Record<string, unknown>, path: string): GuaranteeScope {
    const { form } = this;
    const at = join(path, 'resource');
    const { resource: given, privileges, unfiltered } = fields;
    const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
    const { column, ...node } = isObject ? (given as { column?: unknown }) : {};
    const resource = this.rows.resource(isObject ? node : given, at);
    const isUnfiltered = unfiltered !== undefined && form.boolean(unfiltered, join(path, 'unfiltered'));
    if ((column !== undefined || isUnfiltered) && !isInTree(resource))
      form.refuse(at, 'holds no rows, so that no column and no filter is there');
    const reading = column !== undefined || isUnfiltered;
    const choices = reading ? (['SELECT'] as const) : privilegesOn(resource);
    const read =
      privileges === undefined ? choices : this.rows.privileges(privileges, join(path, 'privileges'), choices);
    const all = privileges === undefined ? choices.filter((each) => each !== 'EXECUTE_QUERIES') : read;
    return {
      resource,
      privileges: inParts(all),
      ...(column !== undefined && { column: form.text(column, `${at}.column`, resourceNameProblem) }),
      isUnfiltered,
    };
  }

  private count(value: unknown, path: string): number {
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MOST_COUNTED) return value;
    this.form.refuse(join(path, 'count'), `must be an integer from 1 to ${MOST_COUNTED}`);
    return 1;
  }
}

const MOST_COUNTED = 10_000;
const EXCEPTIONS_MOST = 1_000;
const COMMON = ['id', 'name', 'description', 'kind', 'mode'] as const;
const SCOPE = ['resource', 'privileges', 'unfiltered'] as const;
const FIELDS: Readonly<Record<GuaranteeKind, readonly string[]>> = {
  never: ['principal', 'except', ...SCOPE],
  only: ['principals', ...SCOPE],
  always: ['principal', ...SCOPE],
  apart: ['principal', 'except', 'first', 'second'],
  at_most: ['count', 'principal', 'except', ...SCOPE],
};

/** The fields of a guarantee in a file or a body: reading them gives the same one. */
export function guaranteeFields(
  { name, kind, mode, principal, except, scopes, count }: Guarantee,
  form: (named: PolicyPrincipal) => object,
): Record<string, unknown> {
  const [first, second] = scopes.map(({ resource, privileges, column, isUnfiltered }) => ({
    resource: { ...withNamed(resource, form), ...(column !== undefined && { column }) },
    privileges: combined(privileges),
    ...(isUnfiltered && { unfiltered: true }),
  }));
  const others = [...new Map(except.map((each) => [JSON.stringify(form(each)), form(each)]))]
    .sort(([a], [b]) => compareNames(a, b))
    .map(([, each]) => each);
  return {
    ...{ name, kind, mode },
    ...(kind === 'only' ? { principals: others } : { principal: form(principal) }),
    ...(kind !== 'only' && others.length > 0 && { except: others }),
    ...(kind === 'at_most' && { count }),
    ...(kind === 'apart' ? { first, second } : first),
  };
}

function titleProblem(name: string): string | null {
  const { length } = Array.from(name);
  return length >= 1 && length <= 100 ? nameProblem(name) : 'must have 1 to 100 characters';
}

function inParts(privileges: readonly Privilege[]): Privilege[] {
  const parts = privileges.flatMap((each) => {
    const { parts: of } = PRIVILEGE_TERMS[each];
    return of.length > 0 ? of : [each];
  });
  return PRIVILEGES.filter((each) => parts.includes(each));
}
