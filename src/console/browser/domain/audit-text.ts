import type { Schemas } from '../api/client.js';
import { breachesText, peopleVerbText } from './count-text.js';
import { grantAddress } from './grant-form.js';
import { formOfGuarantee, type Guarantee, guaranteeSentence as partsOf } from './guarantee-form.js';
import { pathText } from './node-path.js';
import { POLICY_KIND_NAMES } from './policy-form.js';
import { parsePrincipal, type TextPart } from './principal.js';

export type AuditEvent = Schemas['AuditEventResponse'];
type Details = Readonly<Record<string, unknown>>;

/** The name of an event in words: *grant created*. */
export function eventText(event: string): string {
  return event.replaceAll('_', ' ');
}

type Subject = NonNullable<AuditEvent['subject']>;

const PAGE_FOLDERS: Partial<Record<Subject['type'], string>> = {
  user: 'people',
  group: 'groups',
  guarantee: 'guarantees',
  policy: 'policies',
  publication: 'publications',
};

/** The address of the page about the subject of an event; null: the subject has no page. */
export function subjectAddress(subject: Subject | null): string | null {
  if (subject === null) return null;
  if (subject.type === 'grant') return grantAddress(subject.id);
  const folder = PAGE_FOLDERS[subject.type];
  return folder === undefined ? null : `/${folder}/${subject.id}`;
}

/** An event as a sentence, which is shown after the badge with the event's name: *grant 52: SELECT on sales.eu.orders to ahmed.haddad, until 30 Nov*. */
export function eventSentence(event: AuditEvent): TextPart[] {
  const { subject, actor, address } = event;
  const isAboutActor = subject?.type === 'user' && subject.id === String(actor?.id);
  const makeSentence = SENTENCE_MAKERS[event.event] ?? defaultSentence;
  const sentence = makeSentence(event.details, isAboutActor ? [] : subjectParts(subject));
  const tokenText = actor?.token ? `by token ${actor.token.name}` : '';
  const originText = [tokenText, address === null ? '' : `from ${address}`].filter(Boolean).join(', ');
  return [...sentence, originText === '' ? '' : sentence.length > 0 ? `, ${originText}` : originText];
}

function subjectParts(subject: Subject | null): TextPart[] {
  if (subject === null) return [];
  const { type, id, name } = subject;
  const kind = type === 'publication' ? 'version' : type;
  const text = (type === 'user' || type === 'group') && name !== null ? name : `${kind} ${name ?? id}`;
  const href = subjectAddress(subject);
  return [href === null ? text : { text, href }];
}

type SentenceMaker = (details: Details, subject: TextPart[]) => TextPart[];

const grantSentence =
  (preposition: string): SentenceMaker =>
  (details, subject) => {
    const { privileges, expires_at: expiresAt } = details;
    const expiryParts: TextPart[] = typeof expiresAt === 'string' ? [', until ', { time: expiresAt }] : [];
    const privilegesText = `: ${(privileges as string[]).join(', ')} on `;
    return [...subject, privilegesText, nodePart(details), preposition, holderPart(details), ...expiryParts];
  };

const policySentence: SentenceMaker = (details, subject) => {
  const kind = POLICY_KIND_NAMES[details['kind'] as keyof typeof POLICY_KIND_NAMES].toLowerCase();
  const exceptionCount = (details['except'] as unknown[]).length;
  const exceptText = exceptionCount > 0 ? ` but ${exceptionCount}` : '';
  return [...subject, `: ${kind} on `, nodePart(details), ' for ', holderPart(details), exceptText];
};

const memberSentence =
  (preposition: string): SentenceMaker =>
  ({ user_id: id, engine }, subject) => {
    const principal = typeof id === 'number' ? { type: 'user', id } : { type: 'engine', name: String(engine) };
    return [{ principal }, preposition, ...subject];
  };

const guaranteeChangeSentence: SentenceMaker = ({ before, after }, subject) =>
  [...subject, ': ', partsOf(formOfGuarantee((after ?? before) as Guarantee))].flat();

const SENTENCE_MAKERS: Partial<Record<AuditEvent['event'], SentenceMaker>> = {
  grant_created: grantSentence(' to '),
  grant_revoked: grantSentence(' from '),
  policy_created: policySentence,
  policy_changed: policySentence,
  policy_deleted: policySentence,
  guarantee_created: guaranteeChangeSentence,
  guarantee_changed: guaranteeChangeSentence,
  guarantee_deleted: guaranteeChangeSentence,
  guarantee_broken: ({ broken_by: count }, subject) => [...subject, `: ${breachesText(Number(count))}`],
  login_failed: (details, subject) =>
    details['by'] === 'confirm'
      ? [...subject, ': wrong password in a signed-in session']
      : defaultSentence(details, subject),
  member_added: memberSentence(' to '),
  member_removed: memberSentence(' from '),
  role_changed: ({ from, to }, subject) => [...subject, `: ${roleText(from)} to ${roleText(to)}`],
  publication_applied: ({ access }, subject) => [...subject, peopleChangesText(access as PeopleChanges)],
  publication_refused: ({ awaits, reasons }) => [
    typeof awaits === 'string' ? `change ${awaits.slice(0, 8)}: ` : '',
    valueText((reasons as unknown[])[0]),
  ],
};

const defaultSentence: SentenceMaker = (details, subject) => {
  const text = detailsText(details);
  return text === '' ? subject : [...subject, subject.length > 0 ? `: ${text}` : text];
};

const ACCESS_EVENT_PATTERN =
  /^(account_(activated|deactivated|renamed)|grant|group_deleted|member|policy|publication_re|restore|snapshot|users_imported)/;

export function isAccessChange({ event }: AuditEvent): boolean {
  return ACCESS_EVENT_PATTERN.test(event);
}

function nodePart({ resource }: Details): TextPart {
  const node = resource as Record<string, unknown>;
  const fieldWithPrincipal = (field: 'as' | 'queries') =>
    typeof node[field] === 'string' && { [field]: parsePrincipal(node[field]) ?? { type: 'everyone' } };
  return { node: { ...node, ...fieldWithPrincipal('as'), ...fieldWithPrincipal('queries') } };
}

function holderPart({ principal }: Details): TextPart {
  const parsedPrincipal = parsePrincipal(String(principal));
  return parsedPrincipal === null ? String(principal) : { principal: parsedPrincipal };
}

const roleText = (role: unknown): string => (role === 'admin' ? 'administrator' : String(role));

type PeopleChanges = Pick<Schemas['AccessChangeResponse'], 'people_gaining' | 'people_losing'> | null;

function peopleChangesText(changes: PeopleChanges): string {
  const { people_gaining: gainCount, people_losing: lossCount } = changes ?? {};
  const gainText = gainCount ? `, ${peopleVerbText(gainCount, 'gain')}` : '';
  return gainText + (lossCount ? `, ${peopleVerbText(lossCount, 'lose')}` : '');
}

const RULES_HASH_PATTERN = /^[0-9a-f]{64}$/;

const MAX_DETAIL_LENGTH = 120;

/** The details of an event in one line: *privileges SELECT, expires at 2027-01-15*. */
export function detailsText(details: Details): string {
  const texts = Object.entries(details).map(([name, value]) => ({ name: eventText(name), text: valueText(value) }));
  return texts.flatMap(({ name, text }) => (text === '' ? [] : [`${name} ${text}`])).join(', ');
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(valueText).join(' ');
  if (typeof value === 'object') {
    if ('message' in value && typeof value.message === 'string') return shortenText(value.message);
    return shortenText('catalog' in value ? pathText(value) : JSON.stringify(value));
  }
  if (typeof value !== 'string') return JSON.stringify(value);
  return RULES_HASH_PATTERN.test(value) ? value.slice(0, 8) : shortenText(value);
}

function shortenText(text: string): string {
  return text.length > MAX_DETAIL_LENGTH ? `${text.slice(0, MAX_DETAIL_LENGTH - 1)}…` : text;
}
