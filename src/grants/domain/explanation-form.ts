import type { AccessIndex } from '../../trino-rules/answers/access-index.js';
import type { Explanation } from '../../trino-rules/answers/explanation.js';
import type { RuleTrace } from '../../trino-rules/answers/rule-trace.js';
import type { Change } from '../../trino-rules/answers/smallest-change.js';
import type { Way } from '../../trino-rules/answers/ways.js';
import type { Node } from '../../trino-rules/model/node.js';

/** An explanation, with the engine's answer by the published rules. */
export interface FullExplanation extends Explanation {
  ways: Way[];
  smallestChange: Change[] | null;
  /** The decision by the published rules. Null: nothing is published yet, or the question is about a group, which the engine does not know. */
  published: (RuleTrace & { version: number; isSame: boolean; text: string | null }) | null;
  /** The index that gives the names of principals in `smallestChange`. */
  index: AccessIndex;
}

/**
 * An explanation with the field names of the API and the command line.
 * @param isAboutOneself true if users ask about themselves: leaves out groups in which they are not, and the deciding rule's text, which names others
 */
export function explanationForm(explanation: FullExplanation, isAboutOneself: boolean) {
  const shownWays = explanation.ways.filter(({ endsAt }) => !isAboutOneself || endsAt?.kind !== 'not_a_member');
  const { allowed, grants, policies, smallestChange, published, index } = explanation;
  return {
    allowed,
    rule: published?.rule ? { ...published.rule, text: isAboutOneself ? null : published.text } : null,
    considered: published?.considered ?? [],
    grants: grants.map(({ id }) => id),
    policies: policies.map(({ id }) => id),
    restrictions: policies.map(({ id, kind, resource }) => ({
      policy_id: id,
      kind,
      resource: namedResource(resource, index),
    })),
    ways: shownWays.slice(0, MAX_WAYS).map((way) => wayForm(way, index)),
    ways_in_all: shownWays.length,
    smallest_change: smallestChange && { steps: smallestChange.map((change) => stepForm(change, index)) },
    published: published && { version: published.version, allowed: published.allowed, is_same: published.isSame },
  };
}

/** The most ways in an answer: there can be thousands of groups through which a person could have access. */
const MAX_WAYS = 100;

function wayForm({ group, isForEveryone, grant, node, endsAt }: Way, { principals }: AccessIndex) {
  return {
    group,
    is_for_everyone: isForEveryone,
    grant_id: grant,
    node: principals.nodeWithName(node),
    ends_at: endsAt && {
      kind: endsAt.kind,
      ...(endsAt.kind === 'expired' && { expired_at: endsAt.at.toISOString() }),
      ...(endsAt.kind === 'denied' && { policies: endsAt.policies }),
    },
  };
}

function stepForm(change: Change, index: AccessIndex) {
  const { principals } = index;
  switch (change.kind) {
    case 'grant':
    case 'deny':
    case 'hidden_column':
      return {
        ...change,
        principal: principals.principalWithName(change.principal),
        resource: namedResource(change.resource, index),
      };
    case 'revoke':
      return { kind: change.kind, grant_id: change.grant };
    case 'except':
      return { kind: change.kind, policy_id: change.policy, principal: principals.principalWithName(change.principal) };
    case 'activate':
      return { kind: change.kind, principal: principals.principalWithName({ type: 'user', id: change.user }) };
  }
}

function namedResource(resource: Node & { column?: string }, { principals }: AccessIndex) {
  return { ...principals.nodeWithName(resource), ...(resource.column !== undefined && { column: resource.column }) };
}
