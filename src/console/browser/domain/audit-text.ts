import type { Schemas } from '../api/client.js';
import { peopleWho } from './count-text.js';
import { grantAddress } from './grant-form.js';
import { pathText } from './node-path.js';
import { KIND_NAMES } from './policy-form.js';
import { type Named, parsePrincipal } from './principal.js';

export type Event = Schemas['AuditEventResponse'];
type Details = Readonly<Record<string, unknown>>;

/** *grant created*. */
export function eventText(event: string): string {
  return event.replaceAll('_', ' ');
}

type Subject = NonNullable<Event['subject']>;

const FOLDERS: Partial<Record<Subject['type'], string>> = {
  user: 'people',
  group: 'groups',
  guarantee: 'guarantees',
  policy: 'policies',
  publication: 'publications',
};

/** The page about the subject of an event; null: there is none. */
export function subjectAddress(subject: Subject | null): string | null {
  if (subject === null) return null;
  if (subject.type === 'grant') return grantAddress(subject.id);
  const folder = FOLDERS[subject.type];
  return folder === undefined ? null : `/${folder}/${subject.id}`;
}

/** A part of a sentence: text, a link, a principal whose name may still have to be read, a node, or a moment. */
export type Part = string | { text: string; href: string } | { principal: Named } | { node: object } | { at: string };

/** An event as a sentence, after its badge: *grant 52: SELECT on sales.eu.orders to ahmed.haddad, until 30 Nov*. */
export function sentenceOf(event: Event): Part[] {
  const { subject, actor, address } = event;
  const isOwn = subject?.type === 'user' && subject.id === String(actor?.id);
  const sentence = (PREDICATES[event.event] ?? otherwise)(event.details, isOwn ? [] : subjectOf(subject));
  const token = actor?.token ? `by token ${actor.token.name}` : '';
  const aside = [token, address === null ? '' : `from ${address}`].filter(Boolean).join(', ');
  return [...sentence, aside === '' ? '' : sentence.length > 0 ? `, ${aside}` : aside];
}

function subjectOf(subject: Subject | null): Part[] {
  if (subject === null) return [];
  const { type, id, name } = subject;
  const kind = type === 'publication' ? 'version' : type;
  const text = (type === 'user' || type === 'group') && name !== null ? name : `${kind} ${name ?? id}`;
  const href = subjectAddress(subject);
  return [href === null ? text : { text, href }];
}

type Predicate = (details: Details, about: Part[]) => Part[];

const ofGrant =
  (to: string): Predicate =>
  (details, about) => {
    const { privileges, expires_at: end } = details;
    const until: Part[] = typeof end === 'string' ? [', until ', { at: end }] : [];
    return [...about, `: ${(privileges as string[]).join(', ')} on `, nodeOf(details), to, holderOf(details), ...until];
  };

const ofPolicy: Predicate = (details, about) => {
  const kind = KIND_NAMES[details['kind'] as keyof typeof KIND_NAMES].toLowerCase();
  const except = (details['except'] as unknown[]).length;
  return [...about, `: ${kind} on `, nodeOf(details), ' for ', holderOf(details), except > 0 ? ` but ${except}` : ''];
};

const ofMember =
  (to: string): Predicate =>
  ({ user_id: id, engine }, about) => {
    const principal = typeof id === 'number' ? { type: 'user', id } : { type: 'engine', name: String(engine) };
    return [{ principal }, to, ...about];
  };

/** Sentences of events for which the subject and the details are not enough. */
const PREDICATES: Partial<Record<Event['event'], Predicate>> = {
  grant_created: ofGrant(' to '),
  grant_revoked: ofGrant(' from '),
  policy_created: ofPolicy,
  policy_changed: ofPolicy,
  policy_deleted: ofPolicy,
  member_added: ofMember(' to '),
  member_removed: ofMember(' from '),
  role_changed: ({ from, to }, about) => [...about, `: ${roleText(from)} to ${roleText(to)}`],
  publication_applied: ({ access }, about) => [...about, changedText(access as Changes)],
  publication_refused: ({ awaits, reasons }) => [
    typeof awaits === 'string' ? `text ${awaits.slice(0, 8)}: ` : '',
    valueText((reasons as unknown[])[0]),
  ],
};

const otherwise: Predicate = (details, about) => {
  const text = detailsText(details);
  return text === '' ? about : [...about, about.length > 0 ? `: ${text}` : text];
};

/** Events that change access. */
const CHANGES =
  /^(account_(activated|deactivated|renamed)|grant|group_deleted|member|policy|publication_re|restore|snapshot|users_imported)/;

export function changesAccess({ event }: Event): boolean {
  return CHANGES.test(event);
}

function nodeOf({ resource }: Details): Part {
  const node = resource as Record<string, unknown>;
  const named = (field: 'as' | 'queries') =>
    typeof node[field] === 'string' && { [field]: parsePrincipal(node[field]) ?? { type: 'everyone' } };
  return { node: { ...node, ...named('as'), ...named('queries') } };
}

function holderOf({ principal }: Details): Part {
  const named = parsePrincipal(String(principal));
  return named === null ? String(principal) : { principal: named };
}

const roleText = (role: unknown): string => (role === 'admin' ? 'administrator' : String(role));

type Changes = Pick<Schemas['AccessChangeResponse'], 'people_gaining' | 'people_losing'> | null;

function changedText(changes: Changes): string {
  const { people_gaining: gaining, people_losing: losing } = changes ?? {};
  return (gaining ? `, ${peopleWho(gaining, 'gain')}` : '') + (losing ? `, ${peopleWho(losing, 'lose')}` : '');
}

/** Matches the hash of a text of rules, which is shown by its first digits. */
const DIGEST = /^[0-9a-f]{64}$/;

/** Most characters of a detail that are shown. */
const LONGEST = 120;

/** Further facts of an event, in one line: *SELECT on sales.eu.orders, expires at 2027-01-15*. */
export function detailsText(details: Details): string {
  const texts = Object.entries(details).map(([name, value]) => ({ name: eventText(name), text: valueText(value) }));
  return texts.flatMap(({ name, text }) => (text === '' ? [] : [`${name} ${text}`])).join(', ');
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(valueText).join(' ');
  if (typeof value === 'object') {
    if ('message' in value && typeof value.message === 'string') return shortened(value.message);
    return shortened('catalog' in value ? pathText(value) : JSON.stringify(value));
  }
  if (typeof value !== 'string') return JSON.stringify(value);
  return DIGEST.test(value) ? value.slice(0, 8) : shortened(value);
}

function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
