import { Link } from 'wouter';
import { AUDIT_EVENTS } from '../../../audit/domain/audit-event.js';
import type { Schemas } from '../api/client.js';
import { auditFile, auditPage } from '../api/entries.js';
import { usePages } from '../api/pages.js';
import { detailsText, eventText, subjectAddress } from '../domain/audit-text.js';
import { listText } from '../domain/count-text.js';
import { momentText } from '../domain/moment-text.js';
import { now } from '../now.js';
import { Icon } from '../parts/controls.js';
import { Moment, Principal } from '../parts/display.js';
import { type Filter, FilterBar, PrincipalName, useFilters } from '../parts/filter-bar.js';
import { Empty, Page } from '../parts/page.js';
import { type Column, Listing } from '../parts/table.js';

type Event = Schemas['AuditEventResponse'];

/** The parameter of the events of one request. */
const REQUEST = 'request_id';

const showMoment = (value: string): string => {
  const at = new Date(value);
  return Number.isNaN(at.getTime()) ? value : momentText(at, now());
};

const FILTERS: readonly Filter[] = [
  {
    parameter: 'event',
    name: 'Event',
    choices: Object.fromEntries(AUDIT_EVENTS.map((each) => [each, eventText(each)])),
  },
  {
    parameter: 'user',
    name: 'Person',
    show: (value) => <PrincipalName parameter={/^\d+$/.test(value) ? `user:${value}` : value} />,
  },
  { parameter: 'subject', name: 'Subject', show: (value) => <PrincipalName parameter={value} /> },
  { parameter: REQUEST, name: 'Request' },
  { parameter: 'from', name: 'From', type: 'datetime-local', show: showMoment },
  { parameter: 'to', name: 'To', type: 'datetime-local', show: showMoment },
];

const COLUMNS: readonly Column<Event>[] = [
  { name: 'When', className: 'date', cell: ({ at }) => <Moment at={at} /> },
  { name: 'Event', cell: ({ event }) => <span className={`badge${toneOf(event)}`}>{eventText(event)}</span> },
  {
    name: 'Actor',
    cell: ({ actor, address }) =>
      actor === null ? (
        <span className="dim nowrap">{address === null ? 'the service' : 'nobody'}</span>
      ) : (
        <Principal of={{ type: 'user', id: actor.id, name: actor.name }} href={`/people/${actor.id}`} />
      ),
  },
  { name: 'Subject', className: 'full prose', cell: (event) => <Subject event={event} /> },
  {
    name: 'Request',
    cell: ({ request_id: id }) =>
      id !== null && (
        <Link className="mono" href={`/audit?${new URLSearchParams({ [REQUEST]: id }).toString()}`} title={id}>
          {id.slice(0, 8)}
        </Link>
      ),
  },
];

/** What happened, newest first: who did it, to what, by which request. */
export function Audit() {
  const { asked } = useFilters(FILTERS);
  const { from, to, ...rest } = asked;
  const query = { ...rest, ...momentOf('from', from), ...momentOf('to', to) };
  const list = usePages(['audit', query], (page) => auditPage({ ...query, ...page }), { isKept: true });
  return (
    <Page
      isClose
      title="Audit"
      actions={
        <a className="button" href={auditFile(query)} download="audit.csv">
          <Icon name="download" />
          CSV
        </a>
      }
    >
      <FilterBar placeholder="Search events" filters={FILTERS}>
        {listText(list, 'event')}
      </FilterBar>
      <Listing
        name="Audit"
        list={list}
        empty={<Empty title="No event matches" text="Remove a filter, or ask for an earlier time." />}
        columns={COLUMNS}
        keyOf={({ id }) => id}
      />
    </Page>
  );
}

function momentOf(name: 'from' | 'to', value: string | undefined) {
  const at = new Date(value ?? '');
  return Number.isNaN(at.getTime()) ? {} : { [name]: at.toISOString() };
}

function Subject({ event: { subject, details, actor, address } }: { event: Event }) {
  const href = subjectAddress(subject);
  const name =
    subject === null ? null : `${subject.type === 'user' ? '' : `${subject.type} `}${subject.name ?? subject.id}`;
  const token = actor?.token ?? null;
  const rest = [
    detailsText(details),
    ...(token === null ? [] : [`by token ${token.name}`]),
    ...(address === null ? [] : [`from ${address}`]),
  ].filter((part) => part !== '');
  return (
    <>
      {name !== null && (href === null ? name : <Link href={href}>{name}</Link>)}
      {rest.length > 0 && <span className="dim">{`${name === null ? '' : ': '}${rest.join(', ')}`}</span>}
    </>
  );
}

/** The tone of gains, of losses, and of events that need somebody. */
function toneOf(event: Event['event']): string {
  if (/^(grant_created|member_added|account_activated)$/.test(event)) return ' badge--gain';
  if (/^(grant_revoked|member_removed|account_deactivated|group_deleted|policy_deleted)$/.test(event))
    return ' badge--loss';
  return /refused|failed$|reused|unexplained|behind|drift/.test(event) ? ' badge--warn' : '';
}
