import { Link } from 'wouter';
import { AUDIT_EVENTS } from '../../../audit/domain/audit-event.js';
import { auditFileAddress, readAuditPage } from '../api/entries.js';
import { usePages } from '../api/pages.js';
import { type AuditEvent, eventSentence, eventText } from '../domain/audit-text.js';
import { listText } from '../domain/count-text.js';
import { EventBadge, Sentence } from '../parts/sentence.js';
import { Icon } from '../parts/controls.js';
import { Moment, Principal } from '../parts/display.js';
import {
  type Filter,
  FilterBar,
  momentFilter,
  principalFilter,
  principalText,
  useFilters,
  withMoments,
} from '../parts/filter-bar.js';
import { EmptyState, Page } from '../parts/page.js';
import { type Column, Listing } from '../parts/table.js';

const FILTERS: readonly Filter[] = [
  {
    parameter: 'event',
    name: 'Event',
    choices: Object.fromEntries(AUDIT_EVENTS.map((each) => [each, eventText(each)])),
  },
  {
    ...principalFilter('user', 'Person', 'Person', ['everyone', 'group']),
    valueText: (value) => principalText(/^\d+$/.test(value) ? `user:${value}` : value),
  },
  principalFilter('subject', 'Subject', 'Subject', ['everyone']),
  { parameter: 'request_id', name: 'Request' },
  momentFilter('from', 'From'),
  momentFilter('to', 'To'),
];

const COLUMNS: readonly Column<AuditEvent>[] = [
  { name: 'When', className: 'line', cell: ({ at }) => <Moment time={at} isExact /> },
  { name: 'Event', cell: ({ event }) => <EventBadge event={event} /> },
  {
    name: 'Actor',
    className: 'line',
    cell: ({ actor, address }) =>
      actor === null ? (
        <span className="dim">{address === null ? 'the service' : 'nobody'}</span>
      ) : (
        <Principal principal={{ type: 'user', id: actor.id, name: actor.name }} href={`/people/${actor.id}`} />
      ),
  },
  { name: 'Subject', className: 'full prose rest', cell: (event) => <Sentence parts={eventSentence(event)} /> },
  {
    name: 'Request',
    cell: ({ request_id: id }) =>
      id !== null && (
        <Link className="mono" href={`/audit?${new URLSearchParams({ request_id: id }).toString()}`} title={id}>
          {id.slice(0, 8)}
        </Link>
      ),
  },
];

/** The page of the audit trail, newest first: who did what to which object, by which request. */
export function Audit() {
  const { values } = useFilters(FILTERS);
  const { user, ...otherFilters } = withMoments(values, 'from', 'to');
  const query = { ...otherFilters, ...(user !== undefined && { user: user.replace(/^(user|engine):/, '') }) };
  const list = usePages(['audit', query], (page) => readAuditPage({ ...query, ...page }), { isPreviousKept: true });
  return (
    <Page
      isCompact
      title="Audit"
      actions={
        <a className="button" href={auditFileAddress(query)} download="audit.csv">
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
        emptyState={<EmptyState title="No event matches" text="Remove a filter, or ask for an earlier time." />}
        columns={COLUMNS}
        keyOf={({ id }) => id}
      />
    </Page>
  );
}
