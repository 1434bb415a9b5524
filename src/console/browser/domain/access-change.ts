import { groupBy } from '../../../kernel/collections.js';
import type { Schemas } from '../api/client.js';
import { countText, peopleText, peopleVerbText } from './count-text.js';
import { type Node, type Privilege, PRIVILEGES } from './grant-form.js';
import { nodeAt, pathText } from './node-path.js';
import type { PrincipalRef } from './principal.js';

type AccessChange = Schemas['AccessChangeResponse'];
export type ChangedAccess = Schemas['ChangedAccessResponse'];

/** Matches the parts `(any other table)` and `*` of a path, with the dot before them. */
const UNNAMED_NODES = /\.?(\(any other \w+\)|\*)/g;

/** Parses a text such as `SELECT from sales.eu.orders`. Null: the text is not about a privilege on data, but for example about a mask. */
export function permissionOf(text: string): { privilege: Privilege; node: Node } | null {
  const [, name, path = ''] = /^(?:have )?([A-Z_]+)(?: from| into| on| of(?: the schema)?)? (.*)$/.exec(text) ?? [];
  const privilege = PRIVILEGES.find((each) => each === name);
  const nodePath = path.replaceAll(UNNAMED_NODES, '');
  if (privilege === undefined || /[\s(,…]/.test(nodePath) || nodePath.split('.').length > 3) return null;
  return { privilege, node: nodeAt(nodePath.split('.')) };
}

/** A change of access in one line: *61 people lose SELECT on finance.public; 2 people gain INSERT on sales and 3 more things, 4 people in all*. */
export function changeText({ lost, gained, ...counts }: AccessChange): string {
  const texts = [
    changesText('lose', lost, counts.people_losing ?? 0, counts.lost_in_all),
    changesText('gain', gained, counts.people_gaining ?? 0, counts.gained_in_all),
  ];
  return texts.filter(Boolean).join('; ') || 'Nobody gains or loses anything';
}

const peopleCountOf = ({ people, others }: ChangedAccess): number => people.length + others;

function changesText(verb: string, changes: readonly ChangedAccess[], peopleCount: number, itemCount: number): string {
  const dataChanges = changes.filter(({ what }) => permissionOf(what) !== null);
  const comparedChanges = dataChanges.length > 0 ? dataChanges : changes;
  const [largestChange] = [...comparedChanges].sort((a, b) => peopleCountOf(b) - peopleCountOf(a));
  if (largestChange === undefined || peopleCount === 0) return '';
  const moreChangesText = itemCount > 1 ? ` and ${countText(itemCount - 1, 'more thing')}` : '';
  const totalText = peopleCount > peopleCountOf(largestChange) ? `, ${peopleText(peopleCount)} in all` : '';
  return `${peopleChangeText(verb, peopleCountOf(largestChange), largestChange.what)}${moreChangesText}${totalText}`;
}

function peopleChangeText(verb: string, count: number, accessText: string): string {
  const permission = permissionOf(accessText);
  if (permission !== null)
    return `${peopleVerbText(count, verb)} ${permission.privilege} on ${pathText(permission.node)}`;
  const { verb: verbPhrase, object } = phraseOf(accessText, verb === 'lose');
  return verbPhrase.startsWith('may')
    ? `${peopleText(count)} ${verbPhrase} ${object}`
    : `for ${peopleText(count)}, ${verbPhrase}: ${object}`;
}

/** Splits a changed access into verb and object: *may now* + *execute queries*. A restriction: *no longer* + *may not SELECT the column card of sales.eu.orders*. */
export function phraseOf(accessText: string, isLoss: boolean): { verb: string; object: string } {
  const restriction = /^not: (.*)$/s.exec(accessText)?.[1];
  if (restriction !== undefined) return { verb: isLoss ? 'now' : 'no longer', object: restriction };
  return { verb: isLoss ? 'may no longer' : 'may now', object: accessText };
}

type Difference = Schemas['AccessDifferenceResponse'];

/** People whose gains or losses are the same. */
export interface OutcomeGroup {
  key: string;
  differences: Omit<Difference, 'principal'>[];
  people: PrincipalRef[];
}

/** Groups people whose gains or losses are the same, the largest group first. */
export function groupByOutcome(differences: readonly Difference[]): OutcomeGroup[] {
  const differenceGroups = groupBy(differences, ({ principal }) => JSON.stringify(principal));
  const outcomes = [...differenceGroups.values()].map((group) => ({
    principal: group[0].principal,
    accesses: group.map(({ principal, ...access }) => access),
  }));
  return [...groupBy(outcomes, ({ accesses }) => JSON.stringify(accesses))]
    .map(([key, group]) => ({ key, differences: group[0].accesses, people: group.map(({ principal }) => principal) }))
    .sort((a, b) => b.people.length - a.people.length);
}
