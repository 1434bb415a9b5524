import fc from 'fast-check';
import { anySnapshot } from '../../../test/support/snapshots/any-snapshot.js';
import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { intentAt, allowsProceduresToReaders, onlyReads, hasAnyAccess } from '../model/intent.js';
import { depth, type Node, pathTo } from '../model/node.js';
import type { Principal, Subject } from '../model/principal.js';
import { PRIVILEGE_TERMS } from '../model/privilege.js';
import { catalogMode } from '../model/rights.js';
import type { Snapshot } from '../model/snapshot.js';
import { DATA_RIGHTS } from './engine-terms.js';
import { intentSets, type IntentSets, type NamedNode } from './intent-sets.js';

describe('the intent as sets of people', () => {
  it('equals the plain intent for every user on every named node and on fresh names below', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        expectToSayThePlainIntent(snapshot);
      }),
      { numRuns: 40 },
    );
  });

  it('ends a conflict of masks where a nearer one decides', () => {
    const builder = aSnapshot().user('ana').may('SELECT', 'sales');
    builder.seesMasked('sales', 'ssn', 'a').seesMasked('sales', 'ssn', 'b').seesMasked('sales.eu', 'ssn', 'c');

    const nodes = expectToSayThePlainIntent(builder.snapshot());

    const eu = nodes.find(({ resource }) => resource.schema === 'eu');
    const columns = eu?.access.states.flatMap(({ effect }) => effect.columns ?? []);
    expect(columns).toContainEqual({ name: 'ssn', mask: 'c' });
  });

  it('has the users of each catalog, and the users with any access', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        const sets = intentSets(snapshot);
        const catalogs = [...[...sets.root.children()].map(({ name }) => name), 'an unused name'];
        const modes = (mode: (catalog: string) => string) => catalogs.map((catalog) => [catalog, mode(catalog)]);
        const inSets = sets.principals.subjects.map(({ name }, position) => ({
          name,
          reaches: sets.usersWithAccess.has(position),
          modes: modes((catalog) => {
            const { all, readOnly } = sets.usersByModeIn(catalog);
            return all.has(position) ? 'all' : readOnly.has(position) ? 'read-only' : 'none';
          }),
        }));
        expect(inSets).toEqual(
          sets.principals.subjects.map((subject) => ({
            name: subject.name,
            reaches: hasAnyAccess(snapshot, principalOf(subject)),
            modes: modes((catalog) => catalogMode(snapshot, principalOf(subject), catalog)),
          })),
        );
      }),
    );
  });
});

/** Compares the sets with `intentAt` for every user and node. A node without named descendants has the same access on all of them. */
function expectToSayThePlainIntent(snapshot: Snapshot): NamedNode[] {
  const sets = intentSets(snapshot);
  const nodes = everyNode(sets);
  const places = nodes.flatMap((node) => {
    const { resource } = node;
    return [resource, ...freshBelow(resource)].map((place) => ({ place, people: entriesOf(sets, node, place) }));
  });
  expect(places).toEqual(places.map(({ place }) => ({ place, people: toldPlainly(sets, snapshot, place) })));
  return nodes;
}

function everyNode(sets: IntentSets): NamedNode[] {
  const withBelow = (node: NamedNode): NamedNode[] => [node, ...[...node.children()].flatMap(withBelow)];
  return withBelow(sets.root);
}

function freshBelow(node: Node): Node[] {
  const fresh = { catalog: 'an unused name', schema: 'nor this', table: 'nor that', ...node };
  return pathTo(fresh).slice(depth(node) + 1);
}

function entriesOf(
  sets: IntentSets,
  { access: { states }, usersRestrictedInTables: restrictedInTables }: NamedNode,
  place: Node,
): object[] {
  return sets.principals.subjects.map(({ name }, position) => {
    const state = states[position];
    const columns = state?.effect.columns ?? [];
    return {
      name,
      rights: DATA_RIGHTS.filter(
        (right) => state?.has(right) && (right !== 'owner' || (depth(place) < 3 && !restrictedInTables.has(position))),
      ),
      filter: state?.effect.filter === undefined ? [] : [state.effect.filter],
      hidden: columns.filter(({ allow }) => allow === false).map((column) => column.name),
      conflicts: state?.conflictColumns,
      masks: columns.flatMap(({ name: column, mask }) => (mask === undefined ? [] : [`${column}: ${mask}`])).sort(),
    };
  });
}

function toldPlainly(sets: IntentSets, snapshot: Snapshot, node: Node): object[] {
  return sets.principals.subjects.map((subject) => {
    const access = intentAt(snapshot, principalOf(subject), node);
    const { privileges, filters, hiddenColumns: hidden, conflictColumns: conflicts, masks } = access;
    const everyRow = onlyReads(access) && !allowsProceduresToReaders(node, snapshot.settings) ? ['true'] : [];
    const terms = privileges.map((privilege) => PRIVILEGE_TERMS[privilege]);
    const owns = depth(node) < 3 && terms.some(({ ownsSchemas }) => ownsSchemas);
    const rights = [...terms.map(({ tablePrivilege }) => tablePrivilege), owns && 'owner'];
    const maskTexts = masks.map(({ column, expression }) => `${column}: ${expression}`).sort();
    return {
      name: subject.name,
      rights: DATA_RIGHTS.filter((right) => rights.includes(right)),
      filter: filters.length === 0 ? everyRow : [filters.map((expression) => `(${expression})`).join(' AND ')],
      hidden,
      conflicts,
      masks: maskTexts,
    };
  });
}

function principalOf(subject: Subject): Principal {
  return subject.kind === 'person' ? { type: 'user', id: subject.userId } : { type: 'engine', name: subject.name };
}
