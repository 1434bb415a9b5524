import { Fragment } from 'react';
import { Link } from 'wouter';
import { type Event, eventText, type Part, sentenceOf } from '../domain/audit-text.js';
import { Moment, Path } from './display.js';
import { PrincipalLink } from './principal-combobox.js';

/** Text with links to what it names. */
export function Sentence({ parts }: { parts: readonly Part[] }) {
  return parts.map((part, at) => <Fragment key={at}>{partOf(part)}</Fragment>);
}

/** What happened, with links to the subject and to the people it names. */
export function AuditSentence({ of }: { of: Event }) {
  return <Sentence parts={sentenceOf(of)} />;
}

function partOf(part: Part) {
  if (typeof part === 'string') return part;
  if ('href' in part) return <Link href={part.href}>{part.text}</Link>;
  if ('principal' in part) return <PrincipalLink of={part.principal} />;
  return 'node' in part ? <Path node={part.node} /> : <Moment at={part.at} />;
}

/** The kind of an event, in the tone of gains, of losses, or of what needs somebody. */
export function EventBadge({ event }: Pick<Event, 'event'>) {
  return <span className={`badge${toneOf(event)}`}>{eventText(event)}</span>;
}

function toneOf(event: Event['event']): string {
  if (/^(grant_created|member_added|account_activated)$/.test(event)) return ' badge--gain';
  if (/^(grant_revoked|member_removed|account_deactivated|group_deleted|policy_deleted)$/.test(event))
    return ' badge--loss';
  return /refused|failed$|reused|unexplained|behind|drift|broken/.test(event) ? ' badge--warn' : '';
}
