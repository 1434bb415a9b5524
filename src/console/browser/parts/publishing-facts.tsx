import type { Schemas } from '../api/client.js';
import { numberText, sizeText } from '../domain/count-text.js';
import { now } from '../now.js';
import { Fact } from './page.js';
import { Moment } from './moment.js';

/** What a ConfigMap holds at most. */
const CONFIGMAP = 1024 ** 2;

/** The state of publishing in figures. */
export function PublishingFacts({ status }: { status: Schemas['StatusResponse'] }) {
  const { published, next_run_at: next, drift, refused_since: refused, waiting_for_approval: waiting } = status;
  return (
    <dl className="facts">
      <Fact name="Next run">
        {next === null ? 'No schedule here' : <Moment at={next} />}
        {next !== null && <small>{inText(next)}</small>}
      </Fact>
      <Fact name="Last run">
        {status.last_run_at === null ? 'None yet' : <Moment at={status.last_run_at} />}
        {status.last_outcome !== null && <small>{OUTCOMES[status.last_outcome]}</small>}
      </Fact>
      <Fact name="Rules">{numberText(published?.rules ?? 0)}</Fact>
      <Fact name="Size">
        {sizeText(published?.bytes ?? 0)}
        {status.target.startsWith('configmap') && (
          <small>{Math.round(((published?.bytes ?? 0) / CONFIGMAP) * 100)} % of the ConfigMap</small>
        )}
      </Fact>
      <Fact name="Drift">
        {drift === null ? (
          'None'
        ) : (
          <>
            <Moment at={drift.found_at} />
            <small>edited by hand, {drift.overwritten ? 'overwritten' : 'still there'}</small>
          </>
        )}
      </Fact>
      <Fact name="Refused">
        {refused === null ? (
          'Nothing'
        ) : (
          <>
            since <Moment at={refused} />
          </>
        )}
        {waiting !== null && <small>1 change waits</small>}
      </Fact>
    </dl>
  );
}

const OUTCOMES: Record<NonNullable<Schemas['StatusResponse']['last_outcome']>, string> = {
  applied: 'published',
  no_change: 'nothing to publish',
  refused: 'refused',
  failed: 'failed',
};

/** *in 2 min*. */
function inText(moment: string): string {
  const minutes = Math.max(0, Math.round((Date.parse(moment) - now().getTime()) / 60_000));
  return minutes === 0 ? 'in less than a minute' : `in ${minutes} min`;
}
