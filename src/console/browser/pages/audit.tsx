import { Link } from 'wouter';
import { AUDIT_EVENTS } from '../../../audit/domain/audit-event.js';
import { auditFile, readAuditPage } from '../api/entries.js';
import { usePages } from '../api/pages.js';
import { type Event, eventText } from '../domain/audit-text.js';
import { listText } from '../domain/count-text.js';
import { AuditSentence, EventBadge } from '../parts/sentence.js';
import { Icon } from '../parts/controls.js';
import { Moment, Principal } from '../parts/display.js';
import {
  type Filter,
  FilterBar,
  momentFilter,
  principalFilter,
  PrincipalName,
  useFilters,
  withMoments,
} from '../parts/filter-bar.js';
import { Empty, Page } from '../parts/page.js';
import { type Column, Listing } from '../parts/table.js';

/** The parameter of the events of one request. */
const REQUEST = 'request_id';

const FILTERS: readonly Filter[] = [
  {
    parameter: 'event',
    name: 'Event',
    choices: Object.fromEntries(AUDIT_EVENTS.map((each) => [each, eventText(each)])),
  },
  {
    ...principalFilter('user', 'Person', 'Person', ['everyone', 'group']),
    show: (value) => <PrincipalName parameter={/^\d+$/.test(value) ? `user:${value}` : value} />,
  },
  principalFilter('subject', 'Subject', 'Subject', ['everyone']),
  { parameter: REQUEST, name: 'Request' },
  momentFilter('from', 'From'),
  momentFilter('to', 'To'),
];

const COLUMNS: readonly Column<Event>[] = [
  { name: 'When', className: 'line', cell: ({ at }) => <Moment at={at} isExact /> },
  { name: 'Event', cell: ({ event }) => <EventBadge event={event} /> },
  {
    name: 'Actor',
    className: 'line',
    cell: ({ actor, address }) =>
      actor === null ? (
        <span className="dim">{address === null ? 'the service' : 'nobody'}</span>
      ) : (
        <Principal of={{ type: 'user', id: actor.id, name: actor.name }} href={`/people/${actor.id}`} />
      ),
  },
  { name: 'Subject', className: 'full prose rest', cell: (event) => <AuditSentence of={event} /> },
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
  const { user, ...rest } = withMoments(asked, 'from', 'to');
  const query = { ...rest, ...(user !== undefined && { user: user.replace(/^(user|engine):/, '') }) };
  const list = usePages(['audit', query], (page) => readAuditPage({ ...query, ...page }), { isKept: true });
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
