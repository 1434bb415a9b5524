import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { approve, useCandidate } from '../api/publishing.js';
import { countText, peopleText } from '../domain/count-text.js';
import { whyLost } from '../domain/why-address.js';
import { ActDialog } from './act-dialog.js';
import { useAsked } from './address.js';
import { Icon } from './icon.js';
import { Moment } from './moment.js';

type Waiting = NonNullable<Schemas['StatusResponse']['waiting_for_approval']>;

/** A change that no recorded one explains: what it takes, and who answers for it. */
export function WaitingForApproval({ waiting, version }: { waiting: Waiting; version: number | undefined }) {
  const candidate = useCandidate(waiting.hash).data;
  const access = candidate?.diff.access;
  return (
    <section className="notice notice--warn" aria-labelledby="waiting">
      <Icon name="clock" />
      <div>
        <h2 id="waiting">Waiting for approval</h2>
        <p>
          {access !== undefined && access !== null ? (
            <>
              <b>{changeText(access)}</b>, and no recorded change explains it.
            </>
          ) : (
            waiting.reasons[0]?.message
          )}
        </p>
        <p>
          Text {waiting.hash.slice(0, 8)}, since <Moment at={waiting.since} />. Revokes go out meanwhile.
        </p>
        <p>
          <UndoLink lost={access?.lost[0]} version={version} />
        </p>
      </div>
      <div className="row">
        <Link className="button button--quiet" href="/publications/waiting">
          See the change
        </Link>
        <Approve hash={waiting.hash} follows={access === undefined || access === null ? null : changeText(access)} />
      </div>
    </section>
  );
}

/** Approves exactly this text, or the one that the address names, confirmed anew. */
export function Approve({ hash, follows }: { hash: string; follows: string | null }) {
  const { asked, ask, close } = useAsked('approve');
  return (
    <>
      <button className="button button--primary" type="button" onClick={() => ask(hash)}>
        Approve this change
      </button>
      {asked !== null && (
        <ActDialog title="Approve this change?" act="Approve" asks="proof" run={() => approve(asked)} close={close}>
          <p>
            The next run publishes text {asked.slice(0, 8)}
            {follows !== null && asked === hash && (
              <>
                : <b>{follows}</b>
              </>
            )}
            .
          </p>
        </ActDialog>
      )}
    </>
  );
}

function changeText({ people_gaining, people_losing, changed_pairs: pairs }: Schemas['AccessChangeResponse']): string {
  const [gaining, losing] = [people_gaining ?? 0, people_losing ?? 0];
  const parts = [
    ...(losing > 0 ? [`${peopleText(losing)} lose${losing === 1 ? 's' : ''} access`] : []),
    ...(gaining > 0 ? [`${peopleText(gaining)} gain${gaining === 1 ? 's' : ''} access`] : []),
  ];
  return parts.length === 0 ? 'Nothing changes' : `${parts.join(', ')}: ${countText(pairs, 'pair')} of person and node`;
}

/** Leads to why the first of those who lose something loses it, which says what would turn it round. */
function UndoLink({
  lost,
  version,
}: {
  lost: Schemas['ChangedAccessResponse'] | undefined;
  version: number | undefined;
}) {
  const name = lost?.people[0];
  const { data } = useQuery({
    queryKey: ['people', 'named', name],
    enabled: name !== undefined,
    queryFn: () => bodyOf(api.GET('/api/admin/users', { params: { query: { q: name ?? '', limit: 50 } } })),
  });
  const person = data?.items.find(({ username }) => username === name);
  const principal = person === undefined ? { type: 'engine', name: name ?? '' } : { type: 'user', id: person.id };
  const why = lost === undefined || data === undefined ? null : whyLost(lost.what, principal);
  return (
    <Link href={why ?? (version === undefined ? '/publications' : `/publications/${version}`)}>How to undo it</Link>
  );
}
