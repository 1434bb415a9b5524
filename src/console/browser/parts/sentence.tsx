import { Fragment } from 'react';
import { Link } from 'wouter';
import { type AuditEvent, eventText } from '../domain/audit-text.js';
import type { TextPart } from '../domain/principal.js';
import { Moment, Path, Privileges } from './display.js';
import { PrincipalLink } from './combobox.js';

/** A sentence with links to the principals and nodes in it. */
export function Sentence({ parts }: { parts: readonly TextPart[] }) {
  return parts.map((part, index) => <Fragment key={index}>{renderPart(part)}</Fragment>);
}

function renderPart(part: TextPart) {
  if (typeof part === 'string') return part;
  if ('href' in part) return <Link href={part.href}>{part.text}</Link>;
  if ('principal' in part) return <PrincipalLink principal={part.principal} />;
  if ('privileges' in part) return <Privileges names={part.privileges} />;
  return 'node' in part ? <Path node={part.node} /> : <Moment time={part.time} />;
}

/** The name of an event, coloured as a gain, a loss or a warning. */
export function EventBadge({ event }: Pick<AuditEvent, 'event'>) {
  return <span className={`badge${toneClass(event)}`}>{eventText(event)}</span>;
}

function toneClass(event: AuditEvent['event']): string {
  if (/^(grant_created|member_added|account_activated)$/.test(event)) return ' badge--gain';
  if (/^(grant_revoked|member_removed|account_deactivated|group_deleted|policy_deleted)$/.test(event))
    return ' badge--loss';
  return /refused|failed$|reused|unexplained|behind|drift|broken/.test(event) ? ' badge--warn' : '';
}
