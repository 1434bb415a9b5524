import { foldedName, nameProblem, resourceNameProblem } from '../../kernel/name.js';
import { type Guarantee, GUARANTEE_KINDS, GUARANTEE_MODES, type GuaranteeScope, isPerPrincipal } from './guarantee.js';
import { compareNames, isInTree, mapPrincipal } from './node.js';
import type { PolicyPrincipal } from './principal.js';
import { mergeIntoComposites, orderedPrivileges, privilegesOn, splitComposites } from './privilege.js';
import { joinPath, type SnapshotDecoder } from './snapshot-decoder.js';
import type { SnapshotRowReader } from './snapshot-rows.js';

/** Reads the guarantees of a snapshot file; problems are added to `decoder`. */
export class GuaranteeReader {
  /** Names read so far, in the form that is compared (`foldedName`). */
  private readonly takenNames = new Set<string>();

  constructor(
    private readonly decoder: SnapshotDecoder,
    private readonly rowReader: SnapshotRowReader,
  ) {}

  /** Reads one guarantee. @param id the id of the row; for a request body, which has no id, any number */
  readGuarantee(value: unknown, path: string, id: number): Guarantee {
    const { decoder } = this;
    const fieldPath = (field: string): string => joinPath(path, field);
    const kind =
      decoder.oneOf((value as { kind?: unknown } | null | undefined)?.kind, fieldPath('kind'), GUARANTEE_KINDS) ??
      'never';
    const row = decoder.object(value, path, [...COMMON_FIELDS, ...FIELDS_BY_KIND[kind]]);
    const name = decoder.text(row.name, fieldPath('name'), titleProblem);
    if (this.takenNames.has(foldedName(name)))
      decoder.addProblem(fieldPath('name'), 'is the name of another guarantee');
    this.takenNames.add(foldedName(name));
    const mode = row.mode === undefined ? 'enforced' : decoder.oneOf(row.mode, fieldPath('mode'), GUARANTEE_MODES);
    if (row.description !== undefined && row.description !== null)
      decoder.string(row.description, fieldPath('description'));
    const readPrincipal = (item: unknown, itemPath: string): PolicyPrincipal =>
      this.rowReader.readPolicyPrincipal(item, itemPath);
    const appliesToEveryone = kind === 'only' || (isPerPrincipal({ kind }) && row.principal === undefined);
    const principal = appliesToEveryone
      ? ({ type: 'everyone' } as const)
      : readPrincipal(row.principal, fieldPath('principal'));
    const listField = kind === 'only' ? 'principals' : 'except';
    const except = decoder.list(row[listField] ?? [], fieldPath(listField), readPrincipal);
    if (except.length > MAX_EXCEPTIONS)
      decoder.addProblem(fieldPath(listField), `must have at most ${MAX_EXCEPTIONS} entries`);
    if (kind === 'only' && except.length === 0)
      decoder.addProblem(fieldPath(listField), 'must name at least one principal');
    const readScopeField = (field: 'first' | 'second'): GuaranteeScope =>
      this.readScope(decoder.object(row[field], fieldPath(field), SCOPE_FIELDS), fieldPath(field));
    const scopes = kind === 'apart' ? [readScopeField('first'), readScopeField('second')] : [this.readScope(row, path)];
    const { count } = row;
    const isValidCount = typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= MAX_COUNT;
    if (kind === 'at_most' && !isValidCount)
      decoder.addProblem(fieldPath('count'), `must be an integer from 1 to ${MAX_COUNT}`);
    return { id, name, kind, mode: mode ?? 'enforced', principal, except, scopes, count: isValidCount ? count : 0 };
  }

  private readScope(
    { resource: resourceValue, privileges, unfiltered }: Partial<Record<(typeof SCOPE_FIELDS)[number], unknown>>,
    path: string,
  ): GuaranteeScope {
    const { decoder } = this;
    const resourcePath = joinPath(path, 'resource');
    const isObject = typeof resourceValue === 'object' && resourceValue !== null && !Array.isArray(resourceValue);
    const { column, ...node } = isObject ? (resourceValue as { column?: unknown }) : {};
    const resource = this.rowReader.readResource(isObject ? node : resourceValue, resourcePath);
    const isUnfiltered = unfiltered !== undefined && decoder.boolean(unfiltered, joinPath(path, 'unfiltered'));
    const isReadingOnly = column !== undefined || isUnfiltered;
    if (isReadingOnly && !isInTree(resource))
      decoder.addProblem(resourcePath, 'holds no rows, so that no column and no filter is there');
    const possiblePrivileges = isReadingOnly ? (['SELECT'] as const) : privilegesOn(resource);
    const scopePrivileges =
      privileges === undefined
        ? possiblePrivileges.filter((privilege) => privilege !== 'EXECUTE_QUERIES')
        : this.rowReader.readPrivileges(privileges, joinPath(path, 'privileges'), possiblePrivileges);
    return {
      resource,
      privileges: orderedPrivileges(splitComposites(scopePrivileges)),
      ...(column !== undefined && { column: decoder.text(column, `${resourcePath}.column`, resourceNameProblem) }),
      isUnfiltered,
    };
  }
}

const MAX_COUNT = 10_000;
const MAX_EXCEPTIONS = 1_000;
const COMMON_FIELDS = ['id', 'name', 'description', 'kind', 'mode'] as const;
const SCOPE_FIELDS = ['resource', 'privileges', 'unfiltered'] as const;
const FIELDS_BY_KIND = {
  never: ['principal', 'except', ...SCOPE_FIELDS],
  only: ['principals', ...SCOPE_FIELDS],
  always: ['principal', ...SCOPE_FIELDS],
  apart: ['principal', 'except', 'first', 'second'],
  at_most: ['count', 'principal', 'except', ...SCOPE_FIELDS],
} as const;

/** The fields of a guarantee in a snapshot file or a request body; `GuaranteeReader` reads them back. */
export function guaranteeFields(
  { name, kind, mode, principal, except, scopes, count }: Guarantee,
  principalForm: (principal: PolicyPrincipal) => object,
): Record<string, unknown> {
  const [first, second] = scopes.map(({ resource, privileges, column, isUnfiltered }) => ({
    resource: { ...mapPrincipal(resource, principalForm), ...(column !== undefined && { column }) },
    privileges: mergeIntoComposites(privileges),
    ...(isUnfiltered && { unfiltered: true }),
  }));
  const exceptions = distinctPrincipals(except.map(principalForm));
  return {
    ...{ name, kind, mode },
    ...(kind === 'only' ? { principals: exceptions } : { principal: principalForm(principal) }),
    ...(kind !== 'only' && exceptions.length > 0 && { except: exceptions }),
    ...(kind === 'at_most' && { count }),
    ...(kind === 'apart' ? { first, second } : first),
  };
}

function titleProblem(name: string): string | null {
  const { length } = Array.from(name);
  return length >= 1 && length <= 100 ? nameProblem(name) : 'must have 1 to 100 characters';
}

/** The distinct principals, ordered by their JSON texts. */
export function distinctPrincipals(principals: readonly object[]): object[] {
  const texts = new Set(principals.map((principal) => JSON.stringify(principal)));
  return [...texts].sort(compareNames).map((text) => JSON.parse(text) as object);
}
