import type { Schemas } from '../api/client.js';
import { countText, peopleText, peopleWho } from './count-text.js';
import { type Node, type Privilege, PRIVILEGES } from './grant-form.js';
import { nodeAt, pathText } from './node-path.js';

type Access = Schemas['AccessChangeResponse'];
export type Changed = Schemas['ChangedAccessResponse'];

/** Matches the text for all nodes of a level that no rule names. */
const OTHERS = /\.?(\(any other \w+\)|\*)/g;

/** `SELECT from sales.eu.orders` as a privilege and a node; null: the text is about something else, such as a mask. */
export function permissionOf(what: string): { privilege: Privilege; node: Node } | null {
  const [, word, path = ''] = /^(?:have )?([A-Z_]+)(?: from| into| on| of(?: the schema)?)? (.*)$/.exec(what) ?? [];
  const privilege = PRIVILEGES.find((each) => each === word);
  const names = path.replaceAll(OTHERS, '');
  if (privilege === undefined || /[\s(,…]/.test(names) || names.split('.').length > 3) return null;
  return { privilege, node: nodeAt(names.split('.')) };
}

/** *61 people lose SELECT on finance.public; 2 people gain INSERT on sales and 3 more things, 4 people in all*. */
export function changeText({ lost, gained, ...counts }: Access): string {
  const parts = [
    sideText('lose', lost, counts.people_losing ?? 0, counts.lost_in_all),
    sideText('gain', gained, counts.people_gaining ?? 0, counts.gained_in_all),
  ];
  return parts.filter(Boolean).join('; ') || 'Nobody gains or loses anything';
}

const peopleOf = ({ people, others }: Changed): number => people.length + others;

/** The privilege on data that most people lose or gain, the number of further changes, and the number of people in all. */
function sideText(verb: string, changes: readonly Changed[], people: number, inAll: number): string {
  const onData = changes.filter(({ what }) => permissionOf(what) !== null);
  const [most] = [...(onData.length > 0 ? onData : changes)].sort((a, b) => peopleOf(b) - peopleOf(a));
  if (most === undefined || people === 0) return '';
  const more = inAll > 1 ? ` and ${countText(inAll - 1, 'more thing')}` : '';
  const others = people > peopleOf(most) ? `, ${peopleText(people)} in all` : '';
  return `${whoText(verb, peopleOf(most), most.what)}${more}${others}`;
}

function whoText(verb: string, people: number, what: string): string {
  const permission = permissionOf(what);
  if (permission !== null) return `${peopleWho(people, verb)} ${permission.privilege} on ${pathText(permission.node)}`;
  const { may, text } = mayOf(what, verb === 'lose');
  return may.startsWith('may') ? `${peopleText(people)} ${may} ${text}` : `for ${peopleText(people)}, ${may}: ${text}`;
}

/** *may now* and *execute queries*; of a restriction, *no longer* and *may not SELECT the column card of sales.eu.orders*. */
export function mayOf(what: string, isLoss: boolean): { may: string; text: string } {
  const restriction = /^not: (.*)$/s.exec(what)?.[1];
  if (restriction !== undefined) return { may: isLoss ? 'now' : 'no longer', text: restriction };
  return { may: isLoss ? 'may no longer' : 'may now', text: what };
}
