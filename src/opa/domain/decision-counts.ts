import { getOrInsert } from '../../kernel/collections.js';
import { fieldOf } from '../../kernel/json-reader.js';
import type { NodeKey, NodeUse } from '../../grants/domain/grant-use.js';
import { type Operation, OPERATIONS, RIGHT_LETTERS } from '../../trino-rules/document/opa-operations.js';
import { SYSTEM } from '../../trino-rules/model/node.js';
import { privilegesGivenBy, PRIVILEGES, type Privilege } from '../../trino-rules/model/privilege.js';

interface CountingOptions {
  now: Date;
  /** Decisions before this time are not counted. */
  since: Date;
  /** Accounts whose decisions are not counted, because their access follows from the settings and not from grants. */
  serviceAccounts: readonly string[];
  /** Whether SELECT also gives the right to table procedures. */
  readersMaintain: boolean;
}

/** Counts decisions in OPA's decision logs by day, user, privileges and node, so that no event must be kept. */
export class DecisionCounts {
  private readonly usesByKey = new Map<string, NodeUse>();
  private readonly privilegesOf: ReadonlyMap<string, readonly Privilege[]>;
  /** Requests for operations that the policy does not know, and denies. */
  unknownOperations = 0;

  constructor(private readonly options: CountingOptions) {
    const operations = Object.entries(OPERATIONS);
    this.privilegesOf = new Map(operations.map(([name, each]) => [name, privilegesFor(each, options.readersMaintain)]));
  }

  get size(): number {
    return this.usesByKey.size;
  }

  /** Counts an event if the policy's rule `allow` allowed the request. Ignores all other values. */
  add(event: unknown): void {
    if (fieldOf(event, 'path') !== 'grantline/allow') return;
    const action = fieldOf(fieldOf(event, 'input'), 'action');
    const operation = textAt(action, 'operation');
    const privileges = this.privilegesOf.get(operation);
    if (operation !== '' && privileges === undefined) this.unknownOperations += 1;
    if (fieldOf(event, 'result') !== true || privileges === undefined || privileges.length === 0) return;
    const userName = textAt(event, 'input', 'context', 'identity', 'user');
    const isOwnResource = textAt(action, 'resource', 'user', 'user') === userName;
    if (userName === '' || isOwnResource || this.options.serviceAccounts.includes(userName)) return;
    const decidedAt = new Date(Math.min(Date.parse(textAt(event, 'timestamp')), this.options.now.getTime()));
    if (!(decidedAt >= this.options.since)) return; // also without a valid time
    const resources = [
      fieldOf(action, 'resource'),
      ...(OPERATIONS[operation]?.target ? [fieldOf(action, 'targetResource')] : []),
    ];
    const nodeByText = new Map(resources.flatMap(coveringNodes).map((node) => [JSON.stringify(node), node]));
    for (const [nodeText, node] of nodeByText) {
      const key = [decidedAt.toISOString().slice(0, 10), privileges, nodeText, userName].join();
      const nodeUse = { userName, lastDecisionAt: decidedAt, node, privileges, decisions: 0 };
      const countedUse = getOrInsert(this.usesByKey, key, () => nodeUse);
      countedUse.decisions += 1;
      if (decidedAt > countedUse.lastDecisionAt) countedUse.lastDecisionAt = decidedAt;
    }
  }

  takeCounts(): NodeUse[] {
    const nodeUses = [...this.usesByKey.values()];
    this.usesByKey.clear();
    return nodeUses;
  }
}

/** A text in nested objects. Empty: there is none, it is too long, or PostgreSQL cannot store it. */
function textAt(value: unknown, ...path: string[]): string {
  const text = path.reduce(fieldOf, value);
  return typeof text === 'string' && text.length <= 1000 && !text.includes('\0') ? text : '';
}

/** The privileges that can allow an operation. Empty if the operation needs no certain privilege, but only some access at or below the node. */
function privilegesFor({ asks, needs = [] }: Operation, readersMaintain: boolean): Privilege[] {
  const letters =
    asks === 'executing' ? 'X' : [...needs, asks === 'table-procedure' && readersMaintain ? 'S' : ''].join('');
  return PRIVILEGES.filter((privilege) => {
    const givenRights = privilegesGivenBy([privilege]);
    return Object.entries(RIGHT_LETTERS).some(([letter, right]) => letters.includes(letter) && givenRights.has(right));
  });
}

/** The keys of the nodes whose grants can apply to a resource: its own node, and those above it. */
function coveringNodes(resource: unknown): NodeKey[] {
  const otherUser = textAt(resource, 'user', 'user');
  const engineKey: NodeKey = ['engine', '', '', '', ''];
  if (otherUser !== '') return [engineKey, ['queries', '', '', '', otherUser], ['acting', '', '', '', otherUser]];
  const resourceNames = fieldOf(resource, 'table') ?? fieldOf(resource, 'schema') ?? fieldOf(resource, 'function');
  if (resourceNames === undefined) return [engineKey];
  const [catalog, schema] = [textAt(resourceNames, 'catalogName'), textAt(resourceNames, 'schemaName')];
  const [table, routine] = [textAt(resourceNames, 'tableName'), textAt(resourceNames, 'functionName')];
  if (catalog === '' || schema === '' || schema === 'information_schema') return [];
  const coveringKeys: NodeKey[] = [
    ['everything', '', '', '', ''],
    ['tree', catalog, '', '', ''],
    ['tree', catalog, schema, '', ''],
  ];
  if (table !== '') coveringKeys.push(['tree', catalog, schema, table, '']);
  if (routine !== '') coveringKeys.push(['routine', catalog, schema, routine, '']);
  // A grant on everything does not apply to the engine's own catalog.
  return catalog === SYSTEM ? coveringKeys.slice(1) : coveringKeys;
}
