import { FRESH_PREFIX, unusedFreshName } from '../document/open-names.js';
import type { AccessFact } from '../engine/access-fact.js';
import { SchemaComparison } from '../engine/schema-comparison.js';
import { type Bitset, allWordIndexes, bitset, removeAll } from '../engine/sparse-bitset.js';
import { SYSTEM } from '../model/node.js';
import { SYSTEM_SCHEMAS } from '../model/resource.js';
import { fieldAt, fields, QUERY_RIGHTS, ROUTINE_RIGHTS } from '../verify/bundle-index.js';
import { BundleSets } from '../verify/bundle-sets.js';
import { type AccessChange, ChangeCounter, LIST_LIMITS } from './access-change.js';
import { toComparisonSink } from './access-diff.js';

/**
 * The change of access between the data of two OPA bundles. Made-up names stand for all users, catalogs, schemas and
 * tables that no bundle names. The times at which rights expire are not compared.
 * @param oldText text of `data.json`, like `newText`
 */
export function compareData(oldText: string, newText: string, limits = LIST_LIMITS): AccessChange {
  const [oldData, newData] = [accessDataOf(oldText), accessDataOf(newText)];
  const keysAt = (...path: string[]): string[] =>
    [oldData, newData].flatMap((data) => fields(fieldAt(data, ...path)).map(([name]) => name));
  const ownAccounts = [oldData, newData].map((data) => fieldAt(data, 'own')).filter((own) => typeof own === 'string');
  const namedUsers = new Set([...keysAt('users'), ...keysAt('services'), ...ownAccounts]);
  const users = [...namedUsers, unusedFreshName(namedUsers)];
  const positionsByName = new Map(users.map((name, position) => [name, position]));
  const wordCount = (users.length + 31) >>> 5;
  const countedUsers = {
    ...{ wordCount, everyWordIndex: allWordIndexes(wordCount), freshName: FRESH_PREFIX, spend: () => undefined },
    universe: {
      names: () => users,
      isRepresentative: (position: number) => position === namedUsers.size,
      positionsOf: (name: string) => [positionsByName.get(name) ?? []].flat(),
    },
  };
  const oldBundle = new BundleSets(oldData, users, 0, wordCount);
  const newBundle = new BundleSets(newData, users, 0, wordCount);
  const namesBelow = (...path: string[]): string[] => [
    ...new Set([...oldBundle.index.childNames(...path), ...newBundle.index.childNames(...path), FRESH_PREFIX]),
  ];
  const routinesIn = (catalog: string, schema: string): Set<string> =>
    new Set([...[oldBundle, newBundle].flatMap(({ index }) => index.routineNames(catalog, schema)), FRESH_PREFIX]);
  const counter = new ChangeCounter(countedUsers, limits);
  const schemaComparison = new SchemaComparison(countedUsers, toComparisonSink(counter));
  const catalogs = new Set([...namesBelow(), ...keysAt('served'), ...keysAt('closed')]);
  catalogs.delete(SYSTEM);
  catalogs.add(SYSTEM); // last, because users with any other access can read parts of `system`
  for (const catalog of catalogs) {
    for (const schema of new Set([...namesBelow(catalog), ...(catalog === SYSTEM ? SYSTEM_SCHEMAS : [])]))
      schemaComparison.compare(
        { catalog, schema },
        oldBundle.schemaAccess(catalog, schema),
        newBundle.schemaAccess(catalog, schema),
      );
    compare({ about: 'catalog-mode', resource: { catalog }, mode: 'read-only' }, (bundle) =>
      bundle.usersSeeingCatalog(catalog),
    );
  }
  compare({ about: 'queries', right: 'execute' }, (bundle) => bundle.union(bundle.queryExecutors));
  const asksOwners = keysAt('over', 'grants').some((key) =>
    keysAt('over', 'grants', key).some((owner) => owner !== ''),
  );
  for (const [right, , letter] of QUERY_RIGHTS) {
    if (!asksOwners) compare({ about: 'queries', right }, (bundle) => bundle.rightHolders([''], letter));
    for (const owner of asksOwners ? users : [])
      compare(
        { about: 'queries', right, owner },
        (bundle) => bundle.rightHolders(['', ...bundle.index.ownerKeysOf(owner)], letter),
        owner,
      );
  }
  compare({ about: 'system-information', right: 'read' }, (bundle) => bundle.rightHolders([''], 'R'));
  compare({ about: 'system-information', right: 'write' }, (bundle) => bundle.rightHolders([''], 'W'));
  for (const newUser of users)
    compare({ about: 'impersonation', newUser }, (bundle) => bundle.impersonatorsOf(newUser), newUser);
  for (const catalog of catalogs)
    for (const schema of namesBelow(catalog))
      for (const routine of routinesIn(catalog, schema))
        for (const [letter, right] of ROUTINE_RIGHTS)
          compare({ about: 'routine', ...right, resource: { catalog, schema, routine } }, (bundle) =>
            bundle.routineHolders(catalog, schema, routine, letter),
          );
  for (const property of new Set([...keysAt('sessionProperties'), FRESH_PREFIX]))
    compare({ about: 'session-property', property, catalog: null }, (bundle) =>
      bundle.union(
        bundle.serviceAccounts,
        fieldAt(bundle.index.data, 'sessionProperties', property) === true ? bundle.queryExecutors : null,
      ),
    );
  for (const catalog of new Set(keysAt('served')))
    compare({ about: 'session-property', property: FRESH_PREFIX, catalog }, (bundle) =>
      bundle.union(fieldAt(bundle.index.data, 'served', catalog) === undefined ? null : bundle.serviceAccounts),
    );
  return counter.toAccessChange();

  /** Compares the users with one right in the old and the new bundle. @param excludedUser not compared, because the right is over this user; empty: nobody */
  function compare(fact: AccessFact, holdersIn: (bundle: BundleSets) => Bitset, excludedUser = ''): void {
    const excludedUserSet = bitset(wordCount, countedUsers.universe.positionsOf(excludedUser));
    const [holdersBefore, holdersAfter] = [holdersIn(oldBundle), holdersIn(newBundle)];
    for (const set of [holdersBefore, holdersAfter]) removeAll(set, excludedUserSet);
    counter.compareHolders(fact, holdersBefore, holdersAfter);
  }
}

function accessDataOf(text: string): unknown {
  return fieldAt(JSON.parse(text), 'access');
}
