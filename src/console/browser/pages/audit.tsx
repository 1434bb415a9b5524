import { Link } from 'wouter';
import { auditFile, auditPage } from '../api/audit.js';
import type { Schemas } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { detailsText, eventText, EVENTS, subjectAddress } from '../domain/audit-text.js';
import { listText } from '../domain/count-text.js';
import { momentText } from '../domain/moment-text.js';
import { now } from '../now.js';
import { FilterBar } from '../parts/filter-bar.js';
import { type Filter, useFilters } from '../parts/filters.js';
import { Icon } from '../parts/icon.js';
import { Listing } from '../parts/listing.js';
import { Moment } from '../parts/moment.js';
import { Empty, PageHead } from '../parts/page.js';
import { Principal } from '../parts/principal.js';
import { Cell } from '../parts/table.js';

type Event = Schemas['AuditEventResponse'];

const COLUMNS = ['When', 'Event', 'Actor', 'Subject', 'Request'].map((name) => ({ name }));

/** The parameter of the events of one request. */
const REQUEST = 'request_id';

const showMoment = (value: string): string => {
  const at = new Date(value);
  return Number.isNaN(at.getTime()) ? value : momentText(at, now());
};

const FILTERS: readonly Filter[] = [
  { parameter: 'event', name: 'Event', choices: EVENTS.map((value) => ({ value, text: eventText(value) })) },
  { parameter: 'user', name: 'Person' },
  { parameter: 'subject', name: 'Subject' },
  { parameter: REQUEST, name: 'Request' },
  { parameter: 'from', name: 'From', type: 'datetime-local', show: showMoment },
  { parameter: 'to', name: 'To', type: 'datetime-local', show: showMoment },
];

/** What happened, newest first: who did it, to what, by which request. */
export function Audit() {
  const { asked } = useFilters(FILTERS);
  const { from, to, ...rest } = asked;
  const query = { ...rest, ...momentOf('from', from), ...momentOf('to', to) };
  const list = usePages(['audit', query], (page) => auditPage({ ...query, ...page }), { isKept: true });
  return (
    <main id="main" tabIndex={-1}>
      <div className="stack stack--mid">
        <PageHead
          title="Audit"
          actions={
            <a className="button" href={auditFile(query)} download="audit.csv">
              <Icon name="download" />
              CSV
            </a>
          }
        />
        <FilterBar placeholder="Search events" filters={FILTERS}>
          {listText(list, 'event')}
        </FilterBar>
        <Listing
          name="Audit"
          list={list}
          empty={<Empty title="No event matches">Remove a filter, or ask for an earlier time.</Empty>}
          columns={COLUMNS}
          keyOf={({ id }) => id}
          cells={(event) => <EventCells event={event} />}
        />
      </div>
    </main>
  );
}

function momentOf(name: 'from' | 'to', value: string | undefined) {
  const at = new Date(value ?? '');
  return Number.isNaN(at.getTime()) ? {} : { [name]: at.toISOString() };
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
          <span className="dim nowrap">{event.address === null ? 'the service' : 'nobody'}</span>
        ) : (
          <Principal of={{ type: 'user', id: actor.id, name: actor.name }} href={`/people/${actor.id}`} />
        )}
      </Cell>
      <Cell className="full prose">
        <Subject event={event} />
      </Cell>
      <Cell>
        {request !== null && (
          <Link
            className="mono"
            href={`/audit?${new URLSearchParams({ [REQUEST]: request }).toString()}`}
            title={request}
          >
            {request.slice(0, 8)}
          </Link>
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
