import type { Schemas } from '../api/client.js';
import { grantAddress } from './grant-form.js';
import { pathText } from './node-path.js';

type Event = Schemas['AuditEventResponse'];

/** *grant created*. */
export function eventText(event: string): string {
  return event.replaceAll('_', ' ');
}

type Subject = NonNullable<Event['subject']>;

const FOLDERS: Partial<Record<Subject['type'], string>> = {
  user: 'people',
  group: 'groups',
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

/** The hash of a text of rules; its first digits name it. */
const DIGEST = /^[0-9a-f]{64}$/;

/** Characters of a detail that are shown. */
const LONGEST = 120;

/** Further facts of an event, in one line: *SELECT on sales.eu.orders, expires at 2027-01-15*. */
export function detailsText(details: Readonly<Record<string, unknown>>): string {
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
