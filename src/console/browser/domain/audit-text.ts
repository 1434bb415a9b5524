import { AUDIT_EVENTS } from '../../../audit/domain/audit-event.js';
import type { Schemas } from '../api/client.js';
import { grantAddress } from './grant-form.js';
import { pathText } from './node-path.js';

type Event = Schemas['AuditEventResponse'];

export const EVENTS = AUDIT_EVENTS;

/** *grant created*. */
export function eventText(event: string): string {
  return event.replaceAll('_', ' ');
}

/** The page about what an event is about; null: there is none. */
export function subjectAddress(subject: Event['subject']): string | null {
  if (subject === null) return null;
  const { type, id } = subject;
  switch (type) {
    case 'user':
      return `/people/${id}`;
    case 'group':
      return `/groups/${id}`;
    case 'policy':
      return `/policies/${id}`;
    case 'publication':
      return `/publications/${id}`;
    case 'grant':
      return grantAddress(id);
    case 'session':
    case 'token':
    case 'principal':
      return null;
  }
}

/** Of a text of rules: its first digits name it. */
const DIGEST = /^[0-9a-f]{64}$/;

/** As much of a detail as a row has room for. */
const LONGEST = 120;

/** Further facts of an event, in one line: *SELECT on sales.eu.orders, expires at 2027-01-15*. */
export function detailsText(details: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(details).flatMap(([name, value]) => {
    const text = valueText(value);
    return text === '' ? [] : [`${eventText(name)} ${text}`];
  });
  return parts.join(', ');
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(valueText).join(' ');
  if (typeof value === 'object') {
    if ('message' in value && typeof value.message === 'string') return shortened(value.message);
    return shortened('catalog' in value ? pathText(value) : JSON.stringify(value));
  }
  if (typeof value === 'string' && DIGEST.test(value)) return value.slice(0, 8);
  return shortened(typeof value === 'string' ? value : JSON.stringify(value));
}

function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
