import type { Preview } from '../api/drafts.js';
import { numberText, peopleText } from '../domain/count-text.js';
import { type Outcome, outcomesOf } from '../domain/outcomes.js';
import { Privileges } from './access.js';
import { OutcomeLine } from './change.js';
import { Fact, Region } from './page.js';
import { Icon } from './icon.js';
import { Notice } from './notice.js';
import { Path } from './path.js';
import { addressOf, type Named, Principal } from './principal.js';
import { useFirst } from './table.js';

/** How many gain, lose, and have all of it already. */
export function Totals({ preview, isComputing }: { preview: Preview | null; isComputing: boolean }) {
  if (preview === null && !isComputing) return null;
  return (
    <p className="totals" role="status" aria-busy={isComputing}>
      {preview === null ? (
        <span>Computing who gains and who loses</span>
      ) : (
        <>
          <span>
            <b className="change">+{numberText(preview.people_gaining)}</b>{' '}
            {preview.people_gaining === 1 ? 'person gains' : 'people gain'}
          </span>{' '}
          <span>
            <b className="change change--loss">−{numberText(preview.people_losing)}</b>{' '}
            {preview.people_losing === 1 ? 'person loses' : 'people lose'}
          </span>{' '}
          {preview.people_unchanged > 0 && (
            <span>
              <b>{numberText(preview.people_unchanged)}</b> unchanged
            </span>
          )}
          {isComputing && <span className="dim">computing</span>}
        </>
      )}
    </p>
  );
}

/** All that a draft changes: who gains, who loses, who has it already, and what the checks say. */
export function Changes({ preview, more }: { preview: Preview; more?: (() => void) | undefined }) {
  return (
    <>
      <WhoGains preview={preview} />
      <WhoLoses preview={preview} />
      {more !== undefined && (
        <div className="row">
          <button className="button" type="button" onClick={more}>
            Read more people
          </button>
        </div>
      )}
      <Unchanged preview={preview} />
      <Checks preview={preview} />
    </>
  );
}

export function WhoGains({ preview }: { preview: Preview }) {
  return (
    <Side
      title="Who gains"
      count={preview.people_gaining}
      outcomes={outcomesOf(preview.gains)}
      catalogs={preview.catalogs}
      nobody="Nobody gains anything."
    />
  );
}

export function WhoLoses({ preview }: { preview: Preview }) {
  return (
    <Side
      title="Who loses"
      count={preview.people_losing}
      outcomes={outcomesOf(preview.loses)}
      catalogs={preview.catalogs}
      nobody="Nobody loses anything."
      isLoss
    />
  );
}

interface SideProps {
  title: string;
  count: number;
  outcomes: readonly Outcome[];
  catalogs: readonly string[];
  nobody: string;
  isLoss?: boolean;
}

function Side({ title, count, outcomes, catalogs, nobody, isLoss = false }: SideProps) {
  return (
    <Region title={title} count={peopleText(count)}>
      {outcomes.length === 0 && <p className="dim">{nobody}</p>}
      {outcomes.map((outcome) => (
        <div key={outcome.key} className="outcome">
          {outcome.differences.map((difference) => (
            <Change key={JSON.stringify(difference.resource)} of={difference} catalogs={catalogs} isLoss={isLoss} />
          ))}
          <People people={outcome.people} />
        </div>
      ))}
    </Region>
  );
}

interface ChangeProps {
  of: Outcome['differences'][number];
  catalogs: readonly string[];
  isLoss: boolean;
}

function Change({ of: { resource, ...access }, catalogs, isLoss }: ChangeProps) {
  const isEverything = Object.keys(resource).length === 0;
  return (
    <>
      {access.privileges.length > 0 && (
        <OutcomeLine verb={isLoss ? 'lose' : 'gain'} isLoss={isLoss}>
          <Privileges names={access.privileges} /> <span>{'as' in resource ? '' : 'on'}</span> <Path node={resource} />
          {isEverything && catalogs.length > 0 && (
            <span className="hint">{catalogs.length} catalogs today, and later ones</span>
          )}
        </OutcomeLine>
      )}
      {restrictionsOf(access).map(({ icon, text, code }) => (
        <p key={`${text} ${code}`} className="note">
          <Icon name={icon} />
          <span>
            {isLoss ? 'Now with' : 'No longer with'} {text} <code>{code}</code> on <Path node={resource} />
          </span>
        </p>
      ))}
    </>
  );
}

function restrictionsOf({ row_filters: filters, masked_columns: masks, hidden_columns: hidden }: Restrictions) {
  return [
    ...filters.map((code) => ({ icon: 'filter', text: 'the row filter', code })),
    ...masks.map(({ column, expression }) => ({ icon: 'mask', text: `the mask of ${column},`, code: expression })),
    ...hidden.map((code) => ({ icon: 'column', text: 'the hidden column', code })),
  ];
}

type Restrictions = Pick<Outcome['differences'][number], 'row_filters' | 'masked_columns' | 'hidden_columns'>;

/** People of one outcome that are shown at first. */
const MOST = 60;

function People({ people }: { people: readonly Named[] }) {
  const [first, more] = useFirst(people, MOST);
  return (
    <>
      <ul className="outcome__who">
        {first.map((each) => (
          <li key={`${each.type} ${each.name ?? ''}`}>
            <Principal of={each} href={addressOf(each)} />
          </li>
        ))}
      </ul>
      {more && <p className="note">{more}</p>}
    </>
  );
}

function Unchanged({ preview }: { preview: Preview }) {
  if (preview.people_unchanged === 0) return null;
  const ways = new Map<string, Named[]>();
  for (const { principal, through } of preview.unchanged) {
    const text = throughText(through);
    ways.set(text, [...(ways.get(text) ?? []), principal]);
  }
  return (
    <Region title="Unchanged" count={peopleText(preview.people_unchanged)}>
      {[...ways].map(([text, people]) => (
        <div key={text} className="outcome">
          <p className="dim">
            {people.length === 1 ? 'has' : 'have'} all of it {text}
          </p>
          <People people={people} />
        </div>
      ))}
    </Region>
  );
}

function throughText(through: Preview['unchanged'][number]['through']): string {
  if (typeof through === 'object') return `through group ${through.group.name}`;
  return through === 'directly' ? 'directly' : 'as everyone';
}

/** What the write would be refused for, or that it would not; and what it would be answered with. */
export function Checks({ preview: { checks, warnings, size } }: { preview: Preview }) {
  return (
    <Region title="Checks">
      {checks.map(({ code, message }) => (
        <Notice key={code + message} tone="loss" title={CHECKS[code] ?? code}>
          <p>{message}</p>
        </Notice>
      ))}
      {warnings.map((message) => (
        <Notice key={message} tone="warn" title="It does not do what it seems to do">
          <p>{message}</p>
        </Notice>
      ))}
      <dl className="facts">
        {checks.length === 0 && <Fact name="Proof">complete</Fact>}
        <Fact name="Size">
          {size === null ? 'fits' : size.fits ? 'fits, with little left' : 'too large'}
          {size !== null && <small>{size.message}</small>}
        </Fact>
      </dl>
    </Region>
  );
}

const CHECKS: Record<string, string> = {
  name_taken: 'The name belongs to somebody else',
  mask_conflict: 'Another policy masks this column already',
  rules_too_large: 'The rules would be too large for the engine',
  rules_unprovable: 'The rules could not be proved',
};
