import { foldedName, nameProblem, resourceNameProblem } from '../../kernel/name.js';
import { type Guarantee, GUARANTEE_KINDS, GUARANTEE_MODES, type GuaranteeScope, isAboutPeople } from './guarantee.js';
import { compareNames, isInTree, withNamed } from './node.js';
import type { PolicyPrincipal } from './principal.js';
import { withSums, orderedPrivileges, type Privilege, PRIVILEGE_TERMS, privilegesOn } from './privilege.js';
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
    const at = (field: string): string => join(path, field);
    const kind =
      form.oneOf((value as { kind?: unknown } | null | undefined)?.kind, at('kind'), GUARANTEE_KINDS) ?? 'never';
    const row = form.object(value, path, [...COMMON, ...FIELDS[kind]]);
    const name = form.text(row.name, at('name'), titleProblem);
    if (this.taken.has(foldedName(name))) form.addProblem(at('name'), 'is the name of another guarantee');
    this.taken.add(foldedName(name));
    const mode = row.mode === undefined ? 'enforced' : form.oneOf(row.mode, at('mode'), GUARANTEE_MODES);
    if (row.description !== undefined && row.description !== null) form.string(row.description, at('description'));
    const read = (item: unknown, place: string): PolicyPrincipal => this.names.policyPrincipal(item, place);
    const isForAll = kind === 'only' || (isAboutPeople({ kind }) && row.principal === undefined);
    const principal = isForAll ? ({ type: 'everyone' } as const) : read(row.principal, at('principal'));
    const others = kind === 'only' ? 'principals' : 'except';
    const except = form.list(row[others] ?? [], at(others), read);
    if (except.length > EXCEPTIONS_MOST) form.addProblem(at(others), `must have at most ${EXCEPTIONS_MOST} entries`);
    if (kind === 'only' && except.length === 0) form.addProblem(at(others), 'must name at least one principal');
    const part = (field: 'first' | 'second'): GuaranteeScope =>
      this.scope(form.object(row[field], at(field), SCOPE), at(field));
    const scopes = kind === 'apart' ? [part('first'), part('second')] : [this.scope(row, path)];
    const { count } = row;
    const isCount = typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= MOST_COUNTED;
    if (kind === 'at_most' && !isCount) form.addProblem(at('count'), `must be an integer from 1 to ${MOST_COUNTED}`);
    return { id, name, kind, mode: mode ?? 'enforced', principal, except, scopes, count: isCount ? count : 0 };
  }

  private scope(
    { resource: given, privileges, unfiltered }: Partial<Record<(typeof SCOPE)[number], unknown>>,
    path: string,
  ): GuaranteeScope {
    const { form } = this;
    const at = join(path, 'resource');
    const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
    const { column, ...node } = isObject ? (given as { column?: unknown }) : {};
    const resource = this.rows.resource(isObject ? node : given, at);
    const isUnfiltered = unfiltered !== undefined && form.boolean(unfiltered, join(path, 'unfiltered'));
    const isReading = column !== undefined || isUnfiltered;
    if (isReading && !isInTree(resource))
      form.addProblem(at, 'holds no rows, so that no column and no filter is there');
    const choices = isReading ? (['SELECT'] as const) : privilegesOn(resource);
    const chosen =
      privileges === undefined
        ? choices.filter((each) => each !== 'EXECUTE_QUERIES')
        : this.rows.privileges(privileges, join(path, 'privileges'), choices);
    return {
      resource,
      privileges: inParts(chosen),
      ...(column !== undefined && { column: form.text(column, `${at}.column`, resourceNameProblem) }),
      isUnfiltered,
    };
  }
}

const MOST_COUNTED = 10_000;
const EXCEPTIONS_MOST = 1_000;
const COMMON = ['id', 'name', 'description', 'kind', 'mode'] as const;
const SCOPE = ['resource', 'privileges', 'unfiltered'] as const;
const FIELDS = {
  never: ['principal', 'except', ...SCOPE],
  only: ['principals', ...SCOPE],
  always: ['principal', ...SCOPE],
  apart: ['principal', 'except', 'first', 'second'],
  at_most: ['count', 'principal', 'except', ...SCOPE],
} as const;

/** The fields of a guarantee in a file or a body: reading them gives the same one. */
export function guaranteeFields(
  { name, kind, mode, principal, except, scopes, count }: Guarantee,
  form: (named: PolicyPrincipal) => object,
): Record<string, unknown> {
  const [first, second] = scopes.map(({ resource, privileges, column, isUnfiltered }) => ({
    resource: { ...withNamed(resource, form), ...(column !== undefined && { column }) },
    privileges: withSums(privileges),
    ...(isUnfiltered && { unfiltered: true }),
  }));
  const others = distinct(except.map(form));
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
  return orderedPrivileges(
    privileges.flatMap((each) => {
      const { parts } = PRIVILEGE_TERMS[each];
      return parts.length > 0 ? parts : [each];
    }),
  );
}

/** Each of these once, ordered by their texts. */
export function distinct(named: readonly object[]): object[] {
  const texts = new Set(named.map((each) => JSON.stringify(each)));
  return [...texts].sort(compareNames).map((text) => JSON.parse(text) as object);
}
