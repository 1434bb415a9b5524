import fc from 'fast-check';
import { aWorld } from '../../../test/support/a-world.js';
import { anyWorld } from '../../../test/support/any-world.js';
import { catalogMode, intentAt, reachesSomething } from './intent.js';
import { intentSets, type IntentSets, type NamedNode } from './intent-sets.js';
import type { NodeSets } from './node-sets.js';
import type { Principal } from './principal.js';
import { PRIVILEGES } from './privilege.js';
import type { Resource } from './resource.js';
import type { Snapshot } from './snapshot.js';
import type { Subject } from './subject.js';

describe('the intent as sets of people', () => {
  it('says what the plain intent says, of everybody, on every named node and on fresh names below', () => {
    fc.assert(
      fc.property(anyWorld(), (snapshot) => {
        const sets = intentSets(snapshot, ['stranger']);
        for (const node of everyNode(sets)) {
          expect(told(sets, sets.at(node))).toEqual(toldPlainly(sets, snapshot, node));
        }
      }),
      { numRuns: 400 },
    );
  });

  it('ends a conflict of masks where a nearer one decides', () => {
    const world = aWorld().person('ana').may('SELECT', 'sales');
    world.seesMasked('sales', 'ssn', 'a').seesMasked('sales', 'ssn', 'b').seesMasked('sales.eu', 'ssn', 'c');
    const sets = intentSets(world.snapshot());

    for (const node of everyNode(sets))
      expect(told(sets, sets.at(node))).toEqual(toldPlainly(sets, world.snapshot(), node));
    expect(sets.at({ catalog: 'sales', schema: 'eu' }).masks.get('ssn')?.has('c')).toBe(true);
  });

  it('walks to the same sets that it answers with', () => {
    fc.assert(
      fc.property(anyWorld(), (snapshot) => {
        const sets = intentSets(snapshot);
        for (const { resource, sets: walked } of [...sets.catalogs()].flatMap(allBelow)) {
          expect(told(sets, walked)).toEqual(told(sets, sets.at(resource)));
        }
      }),
    );
  });

  it('knows who may enter which catalog, and who may enter at all', () => {
    fc.assert(
      fc.property(anyWorld(), (snapshot) => {
        const sets = intentSets(snapshot, ['stranger']);
        for (const [position, subject] of sets.subjects.list.entries()) {
          const principal = principalOf(subject);
          expect(sets.reachesSomething.has(position)).toBe(reachesSomething(snapshot, principal));
          for (const catalog of new Set(everyNode(sets).map((node) => node.catalog))) {
            const { all, readOnly } = sets.catalogModes(catalog);
            const mode = all.has(position) ? 'all' : readOnly.has(position) ? 'read-only' : 'none';
            expect([catalog, mode]).toEqual([catalog, catalogMode(snapshot, principal, catalog)]);
          }
        }
      }),
    );
  });
});

function everyNode(sets: IntentSets): Resource[] {
  const named = [...sets.catalogs()].flatMap(allBelow).map(({ resource }) => resource);
  const fresh = named.flatMap(({ catalog, schema }) => [
    { catalog, schema: 'nobody named this' },
    { catalog, schema: schema ?? 'nor this', table: 'nobody named this' },
  ]);
  return [...named, ...fresh, { catalog: 'nobody named this' }];
}

function allBelow(node: NamedNode): NamedNode[] {
  return [node, ...[...node.children()].flatMap(allBelow)];
}

function told(sets: IntentSets, { privileges, filters, hidden, masks, conflicts }: NodeSets): object[] {
  return sets.subjects.list.map(({ name }, position) => ({
    name,
    privileges: PRIVILEGES.filter((privilege) => privileges[privilege].has(position)),
    filter: [...filters].filter(([, people]) => people.has(position)).map(([text]) => text),
    hidden: [...hidden]
      .filter(([, people]) => people.has(position))
      .map(([column]) => column)
      .sort(),
    conflicts: [...conflicts]
      .filter(([, people]) => people.has(position))
      .map(([column]) => column)
      .sort(),
    masks: [...masks]
      .flatMap(([column, by]) =>
        [...by].filter(([, people]) => people.has(position)).map(([text]) => `${column}: ${text}`),
      )
      .sort(),
  }));
}

function toldPlainly(sets: IntentSets, snapshot: Snapshot, node: Resource): object[] {
  return sets.subjects.list.map((subject) => {
    const { privileges, filter, hidden, conflicts, masks } = intentAt(snapshot, principalOf(subject), node);
    const maskTexts = masks.map(({ column, expression }) => `${column}: ${expression}`).sort();
    return {
      name: subject.name,
      privileges,
      filter: filter === null ? [] : [filter],
      hidden,
      conflicts,
      masks: maskTexts,
    };
  });
}

function principalOf(subject: Subject): Principal {
  return subject.kind === 'person' ? { type: 'user', id: subject.userId } : { type: 'engine', name: subject.name };
}
