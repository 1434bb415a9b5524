import { Link } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { detailsText, eventText, EVENTS, subjectAddress } from '../domain/audit-text.js';
import { Failure } from '../parts/failure.js';
import { FilterBar } from '../parts/filter-bar.js';
import { type Filter, SEARCH, useFilters } from '../parts/filters.js';
import { Moment, momentText } from '../parts/moment.js';
import { Empty, PageHead } from '../parts/page.js';
import { Principal } from '../parts/principal.js';
import { Cell, Table } from '../parts/table.js';

type Event = Schemas['AuditEventResponse'];

const COLUMNS = ['When', 'Event', 'Actor', 'Subject', 'Request'].map((name) => ({ name }));

const showMoment = (value: string): string => {
  const at = new Date(value);
  return Number.isNaN(at.getTime()) ? value : momentText(at);
};

const FILTERS: readonly Filter[] = [
  { parameter: 'event', name: 'Event', choices: EVENTS.map((value) => ({ value, text: eventText(value) })) },
  { parameter: 'user', name: 'Person' },
  { parameter: 'subject', name: 'Subject' },
  { parameter: 'from', name: 'From', type: 'datetime-local', show: showMoment },
  { parameter: 'to', name: 'To', type: 'datetime-local', show: showMoment },
];

/** What happened, newest first: who did it, to what, by which request. */
export function Audit() {
  const { asked } = useFilters(FILTERS);
  const { [SEARCH]: text = '', from, to, ...rest } = asked;
  const query = { ...rest, ...momentOf('from', from), ...momentOf('to', to) };
  const {
    query: reading,
    items,
    more,
    hasMore,
  } = usePages(
    ['audit', query],
    (page) => bodyOf(api.GET('/api/admin/audit', { params: { query: { ...query, ...page } } })),
    { isKept: true },
  );
  const wanted = text.toLowerCase();
  const shown = items?.filter((event) => searchedText(event).includes(wanted)) ?? null;
  return (
    <main id="main" tabIndex={-1}>
      <div className="stack stack--mid">
        <PageHead title="Audit" />
        <FilterBar placeholder="Search the events shown" filters={FILTERS}>
          {shown === null
            ? 'Reading events'
            : `${shown.length.toLocaleString('en-GB')}${hasMore ? ' and more' : ''} ${shown.length === 1 ? 'event' : 'events'}`}
        </FilterBar>
        {reading.isError && <Failure problem={reading.error} retry={() => void reading.refetch()} />}
        {shown?.length === 0 ? (
          <Empty title="No event matches">Remove a filter, or ask for an earlier time.</Empty>
        ) : (
          <Table
            name="Audit"
            columns={COLUMNS}
            items={shown}
            keyOf={({ id }) => id}
            more={more}
            cells={(event) => <EventCells event={event} />}
          />
        )}
      </div>
    </main>
  );
}

function momentOf(name: 'from' | 'to', value: string | undefined) {
  const at = new Date(value ?? '');
  return Number.isNaN(at.getTime()) ? {} : { [name]: at.toISOString() };
}

function searchedText({ event, actor, subject, details }: Event): string {
  return `${eventText(event)} ${actor?.name ?? ''} ${subject?.name ?? ''} ${detailsText(details)}`.toLowerCase();
}

function EventCells({ event }: { event: Event }) {
  const { at, event: name, actor, request_id: request } = event;
  return (
    <>
      <Cell className="date">
        <Moment at={at} />
      </Cell>
      <Cell>
        <span className={`badge${toneOf(name)}`}>{eventText(name)}</span>
      </Cell>
      <Cell>
        {actor === null ? (
          <span className="dim">{event.address === null ? 'the service' : 'nobody'}</span>
        ) : (
          <Principal of={{ type: 'user', id: actor.id, name: actor.name }} href={`/people/${actor.id}`} />
        )}
      </Cell>
      <Cell className="full prose">
        <Subject event={event} />
      </Cell>
      <Cell>
        {request !== null && (
          <span className="mono" title={request}>
            {request.slice(0, 8)}
          </span>
        )}
      </Cell>
    </>
  );
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

/** Gains, losses, and what needs somebody. */
function toneOf(event: Event['event']): string {
  if (/^(grant_created|member_added|account_activated)$/.test(event)) return ' badge--gain';
  if (/^(grant_revoked|member_removed|account_deactivated|group_deleted|policy_deleted)$/.test(event))
    return ' badge--loss';
  return /refused|failed$|reused|unexplained|behind|drift/.test(event) ? ' badge--warn' : '';
}
