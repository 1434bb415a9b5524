import { Injectable } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';
import { getOrInsert } from '../kernel/collections.js';
import { Refused } from '../kernel/errors.js';
import { Settings } from '../platform/settings/settings.js';
import { AccessIndex } from '../trino-rules/answers/access-index.js';
import { type EffectiveAccess, effectiveAccess } from '../trino-rules/answers/effective-access.js';
import { explain } from '../trino-rules/answers/explanation.js';
import { eachHolder, type Holder, type HolderQuestion } from '../trino-rules/answers/holders.js';
import { restrictsExactly, traceRules } from '../trino-rules/answers/rule-trace.js';
import { neededGrant, smallestChange } from '../trino-rules/answers/smallest-change.js';
import { waysTo } from '../trino-rules/answers/ways.js';
import { textOfRule } from '../trino-rules/engine/deciding-rule.js';
import { INFORMATION_SCHEMA } from '../trino-rules/engine/evaluator.js';
import { type Access, accessToColumn, intentAt, NO_ACCESS } from '../trino-rules/model/intent.js';
import {
  compareNames,
  isKillQuery,
  principalIn,
  type NamedNode,
  type Node,
  mapPrincipal,
} from '../trino-rules/model/node.js';
import type { NamedPolicyPrincipal, PolicyPrincipal, Principal } from '../trino-rules/model/principal.js';
import { isNodeQuestion, type Question } from '../trino-rules/model/question.js';
import { isOpenSystemNode } from '../trino-rules/model/resource.js';
import { tablesMayShareFiles } from '../trino-rules/model/restrictions.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { PrincipalNames } from '../users/principal-names.store.js';
import { UserStore } from '../users/user.store.js';
import { PublishedRules, type PublishedVersion } from './domain/admission-ports.js';
import type { FullExplanation } from './domain/explanation-form.js';
import { SnapshotStore } from './domain/snapshot-store.js';

export interface NamedAccess extends EffectiveAccess {
  resource: NamedNode;
}

/** Answers questions about access by the recorded grants and policies. The engine follows these from the next publication on. */
@Injectable()
export class AccessService {
  constructor(
    private readonly snapshots: SnapshotStore,
    private readonly publishedRules: PublishedRules,
    private readonly users: UserStore,
    private readonly names: PrincipalNames,
    private readonly settings: Settings,
  ) {}

  /** Adds the name of the principal in `as` or `queries` of a node. @throws Refused `validation_failed` for an unknown account */
  async withNames(node: Node): Promise<NamedNode> {
    const namedPrincipal = principalIn(node);
    const name = namedPrincipal?.type === 'user' ? (await this.users.find(namedPrincipal.id))?.username : '';
    if (name !== undefined)
      return mapPrincipal(node, (each: PolicyPrincipal): NamedPolicyPrincipal =>
        each.type === 'user' || each.type === 'group' ? { ...each, name } : each,
      );
    const field = node.as === undefined ? 'queries' : 'as';
    throw new Refused('validation_failed', { errors: [{ field, message: 'there is no such user' }] });
  }

  /** @throws Refused `not_found` if there is no such principal, or if the name of an engine principal belongs to an account */
  async effectiveAccess(principal: Principal, page: { after: Node | null; limit: number }): Promise<NamedAccess[]> {
    const index = await this.indexFor(principal, null, await this.reservedSpelling(principal));
    const withName = (node: Node): NamedNode => index.principals.nodeWithName(node);
    return effectiveAccess(index, principal, page).map(({ resource, access, origins }) => ({
      ...{ resource: withName(resource), access },
      origins: origins.map((each) => ({ ...each, inheritedFrom: each.inheritedFrom && withName(each.inheritedFrom) })),
    }));
  }

  /** Counts the principals with access. @throws Refused `validation_failed` for `information_schema`, to which no grant applies */
  async countHolders(question: HolderQuestion, page: { after: string | null; limit: number }): Promise<HolderCount> {
    refuseInformationSchema(question);
    const holderCount = new HolderCount(page);
    for await (const [holder] of timeSliced(
      eachHolder(new AccessIndex(await this.snapshotForQuestion(question)), question),
    ))
      if (holder !== undefined) holderCount.add(holder);
    return holderCount;
  }

  private async snapshotForQuestion(question: HolderQuestion): Promise<Snapshot> {
    const node = decidingNode(question);
    // Some questions depend on grants elsewhere. For example, calling kill_query depends on KILL_QUERIES.
    const needsWholeSnapshot = node === null || principalIn(node) !== undefined || isKillQuery(node);
    if (needsWholeSnapshot) return this.snapshots.read();
    // Mostly, the whole catalog is read: a restriction in it can take away its routines or, where tables may share files, ownership.
    const { catalog, table } = node;
    const needsCatalog = table === undefined || tablesMayShareFiles(node, this.settings.acl);
    const area = catalog !== undefined && needsCatalog ? { catalog } : node;
    const touchedSnapshot = await this.snapshots.readTouched({ nodes: [area], groups: [] }, Infinity);
    return touchedSnapshot ?? this.snapshots.read();
  }

  async explain(principal: Principal, question: Question): Promise<FullExplanation> {
    refuseInformationSchema(question);
    const node = decidingNode(question);
    const takenSpelling = await this.reservedSpelling(principal);
    const isAboutOthers =
      question.about === 'impersonation' || (question.about === 'queries' && question.owner !== undefined);
    const [index, rules] = await Promise.all([
      this.indexFor(principal, node, takenSpelling, isAboutOthers),
      this.publishedRules.currentVersion(),
    ]);
    const explanation = explain(index, principal, question);
    const nodeToGrant = explanation.allowed ? null : (neededGrant(question, index.principals)?.resource ?? null);
    const pathGrants = nodeToGrant === null ? [] : await this.snapshots.grantsOnPath(principal, nodeToGrant);
    return {
      ...explanation,
      ways: waysTo(index, principal, question, pathGrants),
      smallestChange: takenSpelling === null ? smallestChange(index, principal, question) : null,
      published: rules && publishedAnswer(rules, index, principal, question, explanation.allowed),
      index,
    };
  }

  /** @throws Refused `not_found` for a principal that does not exist */
  private async indexFor(
    principal: Principal,
    node: Node | null,
    takenSpelling: string | null,
    needsWholeSnapshot = false,
  ): Promise<AccessIndex> {
    const ownSnapshot = await this.snapshots.readFor(principal, node);
    const entries = [...ownSnapshot.grants, ...ownSnapshot.policies];
    const namesOthers = entries.some(({ resource }) => principalIn(resource) !== undefined);
    const index = new AccessIndex(needsWholeSnapshot || namesOthers ? await this.snapshots.read() : ownSnapshot);
    const principalExists =
      principal.type === 'engine'
        ? takenSpelling !== principal.name
        : (principal.type === 'user' ? index.principals.user(principal.id) : index.principals.group(principal.id)) !==
          undefined;
    if (!principalExists) throw new Refused('not_found');
    return index;
  }

  /** The stored name that conflicts with an engine principal's name, for example in another spelling; null: none. */
  private async reservedSpelling(principal: Principal): Promise<string | null> {
    if (principal.type !== 'engine') return null;
    const [takenName] = await this.names.findTakenEngineNames([principal.name]);
    return takenName?.name ?? null;
  }
}

/** The node of a question if only grants on the node or above it decide the answer. Null if other grants matter, as for the part of `system` that all users read. */
function decidingNode(question: HolderQuestion): Node | null {
  return isNodeQuestion(question) && !isOpenSystemNode(question.resource) ? question.resource : null;
}

/** Refuses questions about `information_schema`: the engine applies no rule to it, so grants do not decide access. */
function refuseInformationSchema(question: HolderQuestion): void {
  if (!isNodeQuestion(question) || question.resource.schema !== INFORMATION_SCHEMA) return;
  const message = 'is kept by the engine itself: whoever may enter the catalog reads it, filtered';
  throw new Refused('validation_failed', { errors: [{ field: 'schema', message }] });
}

/** The engine's answer to a question by the published rules. Null for a group, because the engine only decides for users. */
function publishedAnswer(
  { version, engine }: PublishedVersion,
  index: AccessIndex,
  principal: Principal,
  question: Question,
  allowed: boolean,
): FullExplanation['published'] {
  if (principal.type === 'group') return null;
  const name = principal.type === 'engine' ? principal.name : index.principals.user(principal.id)?.name;
  if (name === undefined) return null;
  const readAccessBy = (accessIndex: AccessIndex): Access | null => {
    // A column has its own answer only for SELECT, because row filters, masks and hidden columns restrict only reading.
    if (!allowed || question.about !== 'privilege' || question.privilege !== 'SELECT') return null;
    const intent = intentAt(accessIndex.snapshotFor(principal), principal, question.resource, accessIndex.principals);
    return accessToColumn(intent, question.column);
  };
  const intent = readAccessBy(index);
  if (engine instanceof AccessIndex) {
    const engineExplanation = explain(engine, principal, question);
    const isSame =
      engineExplanation.allowed === allowed && restrictionsText(readAccessBy(engine)) === restrictionsText(intent);
    return { version, allowed: engineExplanation.allowed, rule: null, considered: [], isSame, text: null };
  }
  const ruleTrace = traceRules(engine, name, question);
  const isRestricted = intent !== null && question.about === 'privilege';
  const isSame = ruleTrace.allowed === allowed && (!isRestricted || restrictsExactly(engine, name, question, intent));
  return { version, ...ruleTrace, isSame, text: ruleTrace.rule && textOfRule(engine.rules, ruleTrace.rule) };
}

function restrictionsText(intent: Access | null): string {
  const { filters, hiddenColumns: hidden, masks } = intent ?? NO_ACCESS;
  return JSON.stringify([filters, hidden, masks.map(({ column, expression }) => [column, expression])].map(sortedJson));
}

function sortedJson(values: readonly unknown[]): string[] {
  return values.map((value) => JSON.stringify(value)).sort();
}

/** Milliseconds after which `timeSliced` pauses, so that other requests can run. */
const SLICE_MS = 20;

export async function* timeSliced<T>(steps: Iterable<T>): AsyncGenerator<T> {
  let sliceStart = performance.now();
  for (const step of steps) {
    yield step;
    if (performance.now() - sliceStart <= SLICE_MS) continue;
    await setImmediate();
    sliceStart = performance.now();
  }
}

/** The number of holders with access through one group. `group` null: access by a direct grant, a grant to everyone, or the settings. */
interface HolderWay {
  group: { id: number; name: string } | null;
  people: number;
  enginePrincipals: number;
}

/** Counts holders, which are added in the order of their names. Keeps one page of them, plus one holder if there is a next page. */
export class HolderCount {
  readonly page: Holder[] = [];
  people = 0;
  enginePrincipals = 0;
  /** Holders who have access only at nodes inside this one. */
  readonly onlyInsideCounts = { people: 0, enginePrincipals: 0 };
  private readonly waysByGroup = new Map<number | null, HolderWay>();

  constructor(private readonly pageRequest: { after: string | null; limit: number }) {}

  add(holder: Holder): void {
    const { principal, origins } = holder;
    const { after, limit } = this.pageRequest;
    const counterName = principal.type === 'user' ? 'people' : 'enginePrincipals';
    if (this.page.length < limit && (after === null || compareNames(principal.name, after) > 0)) this.page.push(holder);
    if (holder.access.privileges.length === 0 && holder.inside.length > 0) {
      this.onlyInsideCounts[counterName] += 1;
      return;
    }
    this[counterName] += 1;
    const groups = new Map(
      origins.map(({ through }) => (typeof through === 'object' ? [through.group.id, through.group] : [null, null])),
    );
    if (origins.length === 0) groups.set(null, null);
    for (const [id, group] of groups) {
      const groupRef = group && { id: group.id, name: group.name };
      getOrInsert(this.waysByGroup, id, () => ({ group: groupRef, people: 0, enginePrincipals: 0 }))[counterName] += 1;
    }
  }

  get ways(): HolderWay[] {
    const holderCount = ({ people, enginePrincipals }: HolderWay): number => people + enginePrincipals;
    return [...this.waysByGroup.values()].sort(
      (a, b) => holderCount(b) - holderCount(a) || compareNames(a.group?.name ?? '', b.group?.name ?? ''),
    );
  }
}
