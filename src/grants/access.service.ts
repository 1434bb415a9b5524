import { Injectable } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';
import { getOrInsert } from '../kernel/collections.js';
import { Refused } from '../kernel/errors.js';
import { AccessIndex } from '../trino-rules/answers/access-index.js';
import { type EffectiveAccess, effectiveAccess } from '../trino-rules/answers/effective-access.js';
import { explain } from '../trino-rules/answers/explanation.js';
import { eachHolder, type Holder, type HolderQuestion, isAtNode } from '../trino-rules/answers/holders.js';
import { hasTheseLimits, traceRules } from '../trino-rules/answers/rule-trace.js';
import { smallestChange } from '../trino-rules/answers/smallest-change.js';
import { grantedNode, waysTo } from '../trino-rules/answers/ways.js';
import { textOfRule } from '../trino-rules/engine/deciding-rule.js';
import { type Evaluator, INFORMATION_SCHEMA } from '../trino-rules/engine/evaluator.js';
import { accessToColumn, intentAt } from '../trino-rules/model/intent.js';
import { compareNames, isKillQuery, namedBy, type NamedNode, type Node, withNamed } from '../trino-rules/model/node.js';
import type { NamedPolicyPrincipal, PolicyPrincipal, Principal } from '../trino-rules/model/principal.js';
import type { Question } from '../trino-rules/model/question.js';
import { isOpenSystem } from '../trino-rules/model/resource.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { PrincipalNames } from '../users/principal-names.store.js';
import { UserStore } from '../users/user.store.js';
import { PublishedRules, type PublishedVersion } from './domain/admission-ports.js';
import type { Explained } from './domain/explanation-form.js';
import { SnapshotStore } from './domain/snapshot-store.js';

export interface NamedAccess extends EffectiveAccess {
  resource: NamedNode;
}

/** Answers who may do what, and why, by the recorded grants and policies, which the engine follows from the next publication on. */
@Injectable()
export class AccessService {
  constructor(
    private readonly snapshots: SnapshotStore,
    private readonly published: PublishedRules,
    private readonly users: UserStore,
    private readonly names: PrincipalNames,
  ) {}

  /**
   * A node of a question, with the names of the principals in it.
   * @throws Refused `validation_failed`: no such account
   */
  async withNames(node: Node): Promise<NamedNode> {
    const named = namedBy(node);
    const found = named?.type === 'user' ? (await this.users.find(named.id))?.username : '';
    if (found !== undefined)
      return withNamed(node, (each: PolicyPrincipal): NamedPolicyPrincipal =>
        each.type === 'user' || each.type === 'group' ? { ...each, name: found } : each,
      );
    const field = node.as === undefined ? 'queries' : 'as';
    throw new Refused('validation_failed', { errors: [{ field, message: 'there is no such user' }] });
  }

  /** @throws Refused `not_found`: no such account or group, or an account where an engine principal is asked for */
  async effectiveAccess(principal: Principal, page: { after: Node | null; limit: number }): Promise<NamedAccess[]> {
    const index = await this.indexFor(principal, null, await this.reservedSpelling(principal));
    return effectiveAccess(index, principal, page).map((entry) => ({
      ...entry,
      resource: index.principals.namedNode(entry.resource),
    }));
  }

  /** @throws Refused `validation_failed`: nobody is given `information_schema` */
  async countHolders(question: HolderQuestion, page: { after: string | null; limit: number }): Promise<HolderCount> {
    refuseKept(question);
    const found = new HolderCount(page);
    for await (const [holder] of inSlices(eachHolder(new AccessIndex(await this.snapshotAround(question)), question)))
      if (holder !== undefined) found.add(holder);
    return found;
  }

  /** Grants and policies above and below a node. */
  private async snapshotAround(question: HolderQuestion): Promise<Snapshot> {
    const asked = nodeAsked(question);
    // Impersonation depends on who else impersonates, access to queries on groups, and killing queries includes a procedure.
    const isWhole = asked === null || namedBy(asked) !== undefined || isKillQuery(asked);
    if (isWhole) return this.snapshots.read();
    // A restriction anywhere in a catalog outweighs a right to its routines.
    const { catalog, table } = asked;
    const area = catalog !== undefined && table === undefined ? { catalog } : asked;
    const touched = await this.snapshots.readTouched({ nodes: [area], groups: [] }, Infinity);
    return touched ?? this.snapshots.read();
  }

  /** @throws Refused as `effectiveAccess` and `countHolders` do */
  async explain(principal: Principal, question: Question): Promise<Explained> {
    refuseKept(question);
    const node = nodeAsked(question);
    const closed = await this.reservedSpelling(principal);
    const namesOther =
      question.about === 'impersonation' || (question.about === 'queries' && question.owner !== undefined);
    const [index, rules] = await Promise.all([
      this.indexFor(principal, node, closed, namesOther),
      this.published.currentVersion(),
    ]);
    const explanation = explain(index, principal, question);
    const granted = explanation.allowed ? null : grantedNode(index, question);
    const onPath = granted === null ? [] : await this.snapshots.grantsOnPath(principal, granted);
    return {
      ...explanation,
      ways: waysTo(index, principal, question, onPath),
      smallestChange: closed === null ? smallestChange(index, principal, question) : null,
      published: rules && traced(rules, index, principal, question, explanation.allowed),
      index,
    };
  }

  /** @param isWhole whether the answer depends on other principals, so that the whole snapshot is needed */
  private async indexFor(
    principal: Principal,
    node: Node | null,
    closed: string | null,
    isWhole = false,
  ): Promise<AccessIndex> {
    const part = await this.snapshots.readFor(principal, node);
    const isOfOthers = [...part.grants, ...part.policies].some(({ resource }) => namedBy(resource) !== undefined);
    const index = new AccessIndex(isWhole || isOfOthers ? await this.snapshots.read() : part);
    const exists =
      principal.type === 'engine'
        ? closed !== principal.name
        : (principal.type === 'user' ? index.principals.user(principal.id) : index.principals.group(principal.id)) !==
          undefined;
    if (!exists) throw new Refused('not_found');
    return index;
  }

  /** The name's spelling, where it belongs to an account or to an engine principal in another spelling; null: the name is usable. */
  private async reservedSpelling(principal: Principal): Promise<string | null> {
    if (principal.type !== 'engine') return null;
    const [held] = await this.names.findTakenForEngine([principal.name]);
    return held?.name ?? null;
  }
}

/** The node of a question. Null: grants anywhere decide the answer, as for rights and for the part of `system` that everybody reads. */
function nodeAsked(question: HolderQuestion): Node | null {
  return isAtNode(question) && !isOpenSystem(question.resource) ? question.resource : null;
}

/** Refuses questions about `information_schema`: the engine applies no rule to it, so grants do not decide access. */
function refuseKept(question: HolderQuestion): void {
  if (!isAtNode(question) || question.resource.schema !== INFORMATION_SCHEMA) return;
  const message = 'is kept by the engine itself: whoever may enter the catalog reads it, filtered';
  throw new Refused('validation_failed', { errors: [{ field: 'schema', message }] });
}

/** The engine's answer by the published rules. Null for a group, which is no user of the engine. */
function traced(
  { version, engine }: PublishedVersion,
  index: AccessIndex,
  principal: Principal,
  question: Question,
  allowed: boolean,
): Explained['published'] {
  if (principal.type === 'group') return null;
  const name = principal.type === 'engine' ? principal.name : index.principals.user(principal.id)?.name;
  if (name === undefined) return null;
  const trace = traceRules(engine, name, question);
  const isSame = trace.allowed === allowed && (!allowed || isReadAlike(engine, name, index, principal, question));
  return { version, ...trace, isSame, text: trace.rule && textOfRule(engine.rules, trace.rule) };
}

/** Whether the rules restrict reading as the grants and policies do. Only reading is restricted, so other questions get true. */
function isReadAlike(
  engine: Evaluator,
  name: string,
  index: AccessIndex,
  principal: Principal,
  question: Question,
): boolean {
  if (question.about !== 'privilege' || question.privilege !== 'SELECT') return true;
  const intent = intentAt(index.of(principal), principal, question.resource, index.principals);
  return hasTheseLimits(engine, name, question, accessToColumn(intent, question.column));
}

/** The longest time for which the steps keep other requests waiting. */
const SLICE_MS = 20;

/** Yields to other requests between the steps. */
export async function* inSlices<T>(steps: Iterable<T>): AsyncGenerator<T> {
  let begun = performance.now();
  for (const step of steps) {
    yield step;
    if (performance.now() - begun <= SLICE_MS) continue;
    await setImmediate();
    begun = performance.now();
  }
}

/** Counts of holders with access through one group. `group` null: directly, as one of everyone, or by the settings. */
interface HolderWay {
  group: { id: number; name: string } | null;
  people: number;
  enginePrincipals: number;
}

/** Counts all holders, added in the order of their names, and keeps a page of them, with one more than the page where there are more. */
export class HolderCount {
  readonly page: Holder[] = [];
  people = 0;
  /** Service accounts among them. */
  enginePrincipals = 0;
  /** Counts of principals with access to a part of the node only. */
  readonly inside = { people: 0, enginePrincipals: 0 };
  private readonly byGroup = new Map<number | null, HolderWay>();

  constructor(private readonly asked: { after: string | null; limit: number }) {}

  add(holder: Holder): void {
    const { principal, origins } = holder;
    const { after, limit } = this.asked;
    const count = principal.type === 'user' ? 'people' : 'enginePrincipals';
    if (this.page.length < limit && (after === null || compareNames(principal.name, after) > 0)) this.page.push(holder);
    if (holder.access.privileges.length === 0 && holder.inside.length > 0) {
      this.inside[count] += 1;
      return;
    }
    this[count] += 1;
    const groups = new Map(
      origins.map(({ through }) => (typeof through === 'object' ? [through.group.id, through.group] : [null, null])),
    );
    if (origins.length === 0) groups.set(null, null);
    for (const [id, group] of groups) {
      const reference = group && { id: group.id, name: group.name };
      getOrInsert(this.byGroup, id, () => ({ group: reference, people: 0, enginePrincipals: 0 }))[count] += 1;
    }
  }

  /** Most holders first. A holder of the whole node counts once for each of its ways. */
  get ways(): HolderWay[] {
    const size = ({ people, enginePrincipals }: HolderWay): number => people + enginePrincipals;
    return [...this.byGroup.values()].sort(
      (a, b) => size(b) - size(a) || compareNames(a.group?.name ?? '', b.group?.name ?? ''),
    );
  }
}
