import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { groupBy } from '../../../kernel/collections.js';
import type { Schemas } from '../api/client.js';
import { type Preview, useGuarantee, type usePreview } from '../api/entries.js';
import {
  type ChangedAccess,
  groupByOutcome,
  type OutcomeGroup,
  permissionOf,
  phraseOf,
} from '../domain/access-change.js';
import { countText, numberText, peopleText } from '../domain/count-text.js';
import { formOfGuarantee, guaranteeSentence, isBlocking } from '../domain/guarantee-form.js';
import { PrincipalByName } from './combobox.js';
import { Button } from './controls.js';
import { addressOf, type PrincipalRef, Path, Principal, Privileges } from './display.js';
import { Failure, Note, Notice } from './notice.js';
import { Fact, Region } from './page.js';
import { Sentence } from './sentence.js';
import { useShowMore } from './table.js';

/** A plus or minus sign in a square. */
export function ChangeSign({ isLoss = false }: { isLoss?: boolean }) {
  return (
    <span className={`sign${isLoss ? ' sign--loss' : ''}`} aria-hidden="true">
      {isLoss ? '−' : '+'}
    </span>
  );
}

const changeClass = (isLoss: boolean): string => `change${isLoss ? ' change--loss' : ''}`;

/** A number of gains or losses: *+1,204*, *−3 lose*, and *0* without a sign. */
export function Delta({ count, isLoss = false, children }: { count: number; isLoss?: boolean; children?: ReactNode }) {
  return (
    <span className={count === 0 ? 'dim' : changeClass(isLoss)}>
      {count > 0 && (isLoss ? '−' : '+')}
      {numberText(count)}
      {children}
    </span>
  );
}

/** Numbers of people who gain and lose access by a draft, shown beside the button that saves the draft. */
export function DraftCounts({ preview }: { preview: Preview | null }) {
  if (preview === null) return null;
  const isRefused = preview.checks.some(({ code }) => code === GUARANTEE_CHECK);
  return (
    <p className="hint">
      <Delta count={preview.people_gaining}> gain</Delta>{' '}
      <Delta count={preview.people_losing} isLoss children=" lose" />{' '}
      {isRefused && <b className="change change--loss"> A guarantee refuses it</b>}
    </p>
  );
}

function OutcomeLine({ verb, isLoss, children }: { verb: string; isLoss: boolean; children: ReactNode }) {
  return (
    <div className="outcome__what">
      <ChangeSign isLoss={isLoss} />
      <span className={changeClass(isLoss)}>{verb}</span> {children}
    </div>
  );
}

/** Numbers of people who gain, who lose, and for whom the draft changes nothing. */
export function DraftTotals({ preview, isComputing }: { preview: Preview | null; isComputing: boolean }) {
  if (preview === null && !isComputing) return null;
  return (
    <p className="totals" role="status" aria-busy={isComputing}>
      {preview === null ? (
        <span>Computing who gains and who loses</span>
      ) : (
        <>
          <span>
            <b>
              <Delta count={preview.people_gaining} />
            </b>{' '}
            {preview.people_gaining === 1 ? 'person gains' : 'people gain'}
          </span>{' '}
          <span>
            <b>
              <Delta count={preview.people_losing} isLoss />
            </b>{' '}
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

/** Reads the next page of a preview, if there is one. */
export function MorePeople({ readMore }: { readMore: (() => void) | undefined }) {
  return readMore && <Button text="Read more people" look="small" onClick={readMore} />;
}

/** The preview of a draft: people who gain, who lose, and for whom nothing changes, and the checks. */
export function DraftEffects({ preview, error, retry, readMore }: ReturnType<typeof usePreview>) {
  if (error !== null) return <Failure problem={error} retry={retry} />;
  if (preview === null) return null;
  return (
    <>
      <DraftOutcomes preview={preview} direction="gains" />
      <DraftOutcomes preview={preview} direction="loses" />
      <MorePeople readMore={readMore} />
      <UnchangedPeople preview={preview} />
      <Checks preview={preview} />
    </>
  );
}

/** Lists the people who gain, or who lose, access by a draft. People with the same gains or losses are listed together. */
export function DraftOutcomes({ preview, direction }: { preview: Preview; direction: 'gains' | 'loses' }) {
  const isLoss = direction === 'loses';
  const outcomes = groupByOutcome(preview[direction]);
  const peopleCount = isLoss ? preview.people_losing : preview.people_gaining;
  return (
    <Region title={`Who ${direction}`} count={peopleText(peopleCount)} isTightStack={preview.guarantees.length > 0}>
      {!isLoss && <DraftGuarantees preview={preview} />}
      {peopleCount === 0 && <p className="dim">Nobody {direction} anything.</p>}
      {outcomes.map((outcome) => (
        <div key={outcome.key} className="outcome">
          {outcome.differences.map((difference) => (
            <Difference
              key={JSON.stringify(difference.resource)}
              difference={difference}
              catalogs={preview.catalogs}
              verb={outcome.people.length === 1 ? direction : direction.slice(0, -1)}
              isLoss={isLoss}
            />
          ))}
          <People people={outcome.people} />
        </div>
      ))}
    </Region>
  );
}

const GUARANTEE_CHECK = 'guarantee_broken';

/** The guarantees that a draft would break or repair. */
export function DraftGuarantees({ preview: { guarantees } }: { preview: Preview }) {
  return guarantees.map((guarantee) => <DraftGuarantee key={guarantee.id} {...guarantee} />);
}

function DraftGuarantee({ id, name, state, witnesses: [witness] }: Preview['guarantees'][number]) {
  const guarantee = useGuarantee(id).data?.body;
  const link = <Link href={`/guarantees/${id}`}>{name}</Link>;
  if (state === 'holds') return <Note icon="check">It mends the guarantee {link}.</Note>;
  const isRefused = guarantee !== undefined && isBlocking(guarantee);
  return (
    <Notice
      tone={isRefused ? 'loss' : 'warn'}
      title={
        <>
          {isRefused ? 'Refused by the guarantee' : 'It breaks the guarantee'} {link}
        </>
      }
    >
      <p>
        {guarantee !== undefined && (
          <>
            <Sentence parts={guaranteeSentence(formOfGuarantee(guarantee))} />.{' '}
          </>
        )}
        {witness !== undefined && `Broken: ${witness.message.replace(/ by \w+ (\d+, )*-[^;]*/g, ', by this draft')}.`}
      </p>
    </Notice>
  );
}

interface DifferenceProps {
  difference: OutcomeGroup['differences'][number];
  catalogs: readonly string[];
  verb: string;
  isLoss: boolean;
}

function Difference({ difference: { resource, ...access }, catalogs, verb, isLoss }: DifferenceProps) {
  const isEverything = Object.keys(resource).length === 0;
  const restrictions = [
    ...access.row_filters.map((code) => ({ icon: 'filter', text: 'the row filter', code })),
    ...access.masked_columns.map(({ column, expression: code }) => ({
      icon: 'mask',
      text: `the mask of ${column},`,
      code,
    })),
    ...access.hidden_columns.map((code) => ({ icon: 'column', text: 'the hidden column', code })),
  ];
  return (
    <>
      {access.privileges.length > 0 && (
        <OutcomeLine verb={verb} isLoss={isLoss}>
          <Privileges names={access.privileges} /> <span>{'as' in resource ? '' : 'on'}</span> <Path node={resource} />
          {isEverything && catalogs.length > 0 && (
            <span className="hint">{catalogs.length} catalogs today, and later ones</span>
          )}
        </OutcomeLine>
      )}
      {restrictions.map(({ icon, text, code }) => (
        <Note key={`${text} ${code}`} icon={icon}>
          {isLoss ? 'Now with' : 'No longer with'} {text} <code>{code}</code> on <Path node={resource} />
        </Note>
      ))}
    </>
  );
}

function People({ people }: { people: readonly PrincipalRef[] }) {
  const [shownPeople, moreButton] = useShowMore(people, 60);
  return (
    <>
      <ul className="outcome__who">
        {shownPeople.map((person) => (
          <li key={`${person.type} ${person.name ?? ''}`}>
            <Principal principal={person} href={addressOf(person)} />
          </li>
        ))}
      </ul>
      {moreButton && <p className="note">{moreButton}</p>}
    </>
  );
}

function UnchangedPeople({ preview }: { preview: Preview }) {
  if (preview.people_unchanged === 0) return null;
  return (
    <Region title="Unchanged" count={peopleText(preview.people_unchanged)}>
      {[...groupBy(preview.unchanged, ({ through }) => throughText(through))].map(([text, people]) => (
        <div key={text} className="outcome">
          <p className="dim">
            {people.length === 1 ? 'has' : 'have'} all of it {text}
          </p>
          <People people={people.map(({ principal }) => principal)} />
        </div>
      ))}
    </Region>
  );
}

function throughText(through: Preview['unchanged'][number]['through']): string {
  if (typeof through === 'object') return `through group ${through.group.name}`;
  return through === 'directly' ? 'directly' : 'as everyone';
}

/** The checks of a draft: refusals (except those by guarantees), warnings, and the size of the rules. */
export function Checks({ preview: { checks, warnings, size } }: { preview: Preview }) {
  // DraftGuarantees shows refusals by guarantees, beside the gains.
  const otherChecks = checks.filter(({ code }) => code !== GUARANTEE_CHECK);
  return (
    <Region title="Checks">
      {otherChecks.map(({ code, message }) => (
        <Notice key={code + message} tone="loss" title={CHECK_TITLES[code] ?? code} text={message} />
      ))}
      {warnings.map((message) => (
        <Notice key={message} tone="warn" title="It does not do what it seems to do" text={message} />
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

const CHECK_TITLES: Record<string, string> = {
  name_taken: 'The name belongs to somebody else',
  mask_conflict: 'Another policy masks this column already',
  rules_too_large: 'The rules would be too large for the engine',
  rules_unprovable: 'The rules could not be proved',
};

interface AccessDifferenceProps {
  /** The gained and lost access; null: nothing was compared. */
  access: Schemas['AccessChangeResponse'] | null;
}

/** Two columns: people who gain and people who lose access by a published version or a pending change. */
export function AccessDifference({ access }: AccessDifferenceProps) {
  return (
    <div className="pair">
      <AccessOutcomes access={access} direction="gains" />
      <AccessOutcomes access={access} direction="loses" />
    </div>
  );
}

function AccessOutcomes({ access, direction }: AccessDifferenceProps & { direction: 'gains' | 'loses' }) {
  const [changedAccess = [], itemCount = null, peopleCount = null] =
    direction === 'gains'
      ? [access?.gained, access?.gained_in_all, access?.people_gaining]
      : [access?.lost, access?.lost_in_all, access?.people_losing];
  const [outcomes, moreButton] = useShowMore(groupByPeople(changedAccess), 10);
  const count = peopleCount === null ? itemCount !== null && countText(itemCount, 'thing') : peopleText(peopleCount);
  return (
    <Region title={`Who ${direction}`} count={count}>
      {itemCount === null && <p className="dim">Not compared: nothing was before it, or nothing that can be read.</p>}
      {itemCount === 0 && <p className="dim">Nobody {direction} anything.</p>}
      {outcomes.map((outcome) => (
        <ChangedOutcome key={outcome.accessTexts.join()} outcome={outcome} direction={direction} />
      ))}
      {moreButton}
    </Region>
  );
}

function ChangedOutcome({ outcome, direction }: { outcome: ChangedPeople; direction: 'gains' | 'loses' }) {
  const { accessTexts, people, others } = outcome;
  const [shownTexts, moreButton] = useShowMore(accessTexts, 8);
  return (
    <div className="outcome">
      {shownTexts.map((text) => (
        <AccessLine key={text} text={text} verb={people.length + others === 1 ? direction : direction.slice(0, -1)} />
      ))}
      {moreButton && <p className="note">{moreButton}</p>}
      <ul className="outcome__who">
        {people.map((name) => (
          <li key={name}>
            <PrincipalByName name={name} />
          </li>
        ))}
        {others > 0 && <li className="dim">{numberText(others)} others</li>}
      </ul>
    </div>
  );
}

/** One gained or lost access: *gains SELECT on sales.eu*, *may no longer execute queries*, *now may not SELECT the column card of sales.eu.orders*. */
function AccessLine({ text, verb }: { text: string; verb: string }) {
  const isLoss = verb.startsWith('lose');
  const permission = permissionOf(text);
  if (permission === null) {
    const { verb: verbPhrase, object } = phraseOf(text, isLoss);
    return (
      <OutcomeLine verb={verbPhrase} isLoss={isLoss}>
        <span className="prose">{object}</span>
      </OutcomeLine>
    );
  }
  return (
    <OutcomeLine verb={verb} isLoss={isLoss}>
      <Privileges names={[permission.privilege]} /> <span>on</span> <Path node={permission.node} />
    </OutcomeLine>
  );
}

interface ChangedPeople extends Pick<ChangedAccess, 'people' | 'others'> {
  accessTexts: string[];
}

function groupByPeople(changes: readonly ChangedAccess[]): ChangedPeople[] {
  const groups = groupBy(changes, ({ people, others }) => JSON.stringify([people, others]));
  return [...groups.values()].map((group) => ({ ...group[0], accessTexts: group.map(({ what }) => what) }));
}
