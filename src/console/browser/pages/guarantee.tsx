import { useState } from 'react';
import { useLocation, useParams } from 'wouter';
import { api, bodyOf, fieldErrorsOf, isProblem, type Versioned, versionOf } from '../api/client.js';
import { refreshAccess } from '../api/entries.js';
import { readGuarantee, useGuarantee, useJudgement } from '../api/guarantees.js';
import { countText } from '../domain/count-text.js';
import { offeredNode } from '../domain/grant-form.js';
import * as forms from '../domain/guarantee-form.js';
import { momentText } from '../domain/moment-text.js';
import { now } from '../now.js';
import { Act, ProofForm } from '../parts/act.js';
import { useFormInAddress, useUnsaved } from '../parts/address.js';
import { ChangedMeanwhile } from '../parts/changed-meanwhile.js';
import { Button, ButtonLink, Icon } from '../parts/controls.js';
import { Moment } from '../parts/display.js';
import { Check, fieldsOf, Segments, TextField } from '../parts/form.js';
import { Failure, Note, Notice, showToast } from '../parts/notice.js';
import { EntryPage, PageHead, Region } from '../parts/page.js';
import { PlaceFields, PrivilegeChecks } from '../parts/place-fields.js';
import { ColumnCombobox, Principals } from '../parts/policy-fields.js';
import { PrincipalCombobox } from '../parts/principal-combobox.js';
import { Sentence } from '../parts/sentence.js';
import { useFirst } from '../parts/table.js';
import { Breach } from '../parts/why-chains.js';
import { checkedText } from './guarantees.js';

/** One guarantee, or a new one. */
export function GuaranteePage() {
  const { id = '' } = useParams();
  const isNew = id === 'new';
  const query = useGuarantee(isNew ? null : Number(id), true);
  if (isNew) return <GuaranteeEditor key={id} loaded={null} />;
  return (
    <EntryPage title="Guarantee" query={query}>
      {(loaded) => <GuaranteeEditor key={id} loaded={loaded} />}
    </EntryPage>
  );
}

type Read = Versioned<forms.Guarantee>;

/** The form of a guarantee, beside its sentence and the judgement of it. */
function GuaranteeEditor({ loaded }: { loaded: Read | null }) {
  const [read, setRead] = useState(loaded);
  const [theirs, setTheirs] = useState<Read | null>(null);
  const base = read?.body ?? null;
  const saved = base === null ? forms.NEW_GUARANTEE : forms.formOfGuarantee(base);
  const [form, setForm, isKept] = useFormInAddress(
    (address) => forms.guaranteeOfAddress(address, saved),
    (draft) => forms.addressOfGuarantee(draft, saved),
  );
  const [isTried, setTried] = useState(false);
  const [, go] = useLocation();
  const isUnchanged = forms.addressOfGuarantee(form, saved).size === 0;
  useUnsaved(!isUnchanged && !isKept);
  const body = forms.guaranteeOfForm(form);
  const judgement = useJudgement(body);
  const { error, retry } = judgement;
  const change = (part: Partial<forms.GuaranteeForm>): void => setForm((before) => ({ ...before, ...part }));
  const title = base?.name ?? 'New guarantee';
  const params = { path: { id: base?.id ?? 0 }, header: { 'If-Match': read?.version ?? '*' } };
  /** Null: it was changed meanwhile. */
  const save = async (): Promise<Read | null> => {
    setTried(true);
    if (body === null || body.name === '') throw new Error('Fill in what is missing.');
    if (base === null) return versionOf(api.POST('/api/admin/guarantees', { body }));
    try {
      return await versionOf(api.PUT('/api/admin/guarantees/{id}', { params, body }));
    } catch (problem) {
      if (!isProblem(problem, 'precondition_failed')) throw problem;
      setTheirs(await readGuarantee(base.id));
      return null;
    }
  };
  return (
    <main id="main" className="split split--draft" tabIndex={-1}>
      <div className="stack">
        <PageHead
          title={title}
          intro={
            base === null ? (
              'Nothing is written until you save it.'
            ) : (
              <>
                Written <Moment at={base.changed_at} /> by {base.written_by?.name ?? 'the command line'}.
              </>
            )
          }
          actions={
            base !== null && (
              <>
                <ButtonLink text="History" href={`/audit?subject=guarantee:${base.id}`} />
                <Act
                  title={`Delete ${base.name}?`}
                  act="Delete"
                  isDanger
                  asks="recent proof"
                  run={() => bodyOf(api.DELETE('/api/admin/guarantees/{id}', { params }))}
                  done={() => {
                    showToast({ text: `${base.name} is deleted.` });
                    return refreshAccess(() => go('/guarantees'));
                  }}
                  button={{ text: 'Delete…', look: 'danger quiet' }}
                >
                  <p>{forms.isRefusing(base) ? 'Then nothing refuses what it forbids.' : 'It is no longer judged.'}</p>
                </Act>
              </>
            )
          }
        />
        <ProofForm
          label={title}
          act="Save"
          isOff={base !== null && isUnchanged}
          asks={base === null || isUnchanged ? undefined : 'recent proof'}
          values={form}
          run={async () => ({ written: await save(), sent: form })}
          done={({ written, sent }) => {
            if (written === null) return;
            const { id, name } = written.body;
            showToast({ text: `${name} is saved.` });
            setRead(written);
            setTheirs(null);
            // Text that was typed meanwhile stays, and so does this page.
            const isSent = form === sent;
            if (isSent) setForm(forms.formOfGuarantee(written.body));
            void refreshAccess(() => isSent && loaded === null && go(`/guarantees/${id}`));
          }}
          close={() => go('/guarantees')}
        >
          {() => (
            <>
              {theirs !== null && (
                <ChangedMeanwhile
                  what="guarantee"
                  by={theirs.body.written_by?.name ?? 'The command line'}
                  at={theirs.body.changed_at}
                  fields={forms.GUARANTEE_FIELDS}
                  theirs={forms.formOfGuarantee(theirs.body)}
                  mine={form}
                  choose={(chosen) => {
                    setForm(chosen);
                    setRead(theirs);
                    setTheirs(null);
                  }}
                />
              )}
              <GuaranteeFields
                form={form}
                change={change}
                errors={{ ...(isTried && forms.missingIn(form)), ...fieldErrorsOf(error) }}
              />
            </>
          )}
        </ProofForm>
      </div>
      <div className="sunken stack">
        <Verdict
          form={form}
          saved={isUnchanged ? base : null}
          {...judgement}
          makeReported={() => change({ mode: 'reported' })}
        />
        {error !== null && <Failure problem={error} retry={retry} />}
      </div>
    </main>
  );
}

const MODES = [
  ['enforced', 'Enforced'],
  ['reported', 'Reported'],
] as const;

interface FieldsProps<F> {
  form: F;
  change: (part: Partial<F>) => void;
  errors: Readonly<Record<string, string>>;
}

function GuaranteeFields({ form, change, errors }: FieldsProps<forms.GuaranteeForm>) {
  const { kind } = form;
  const field = fieldsOf(form, change, errors);
  const scope = (at: 'first' | 'second') => {
    const { value, set } = field(at);
    return <ScopeFields form={value} change={(part) => set({ ...value, ...part })} errors={errors} at={at} />;
  };
  return (
    <>
      <Segments legend="Kind" choices={forms.GUARANTEE_KINDS} {...field('kind')} />
      {kind === 'at_most' && <TextField label="People and engine principals" {...field('count')} />}
      {kind === 'only' ? (
        <Principals title="Who may" each="Person or group" {...field('except')} error={errors['principals']} />
      ) : (
        <PrincipalCombobox {...field('principal')} placeholder={forms.isOfEveryone(kind) ? 'Everyone' : ''} />
      )}
      {forms.hasExceptions(kind) && <Principals title="Except" each="Exception" {...field('except')} />}
      {kind === 'apart' ? (
        <>
          <Region title="First" isStack>
            {scope('first')}
          </Region>
          <Region title="Second" isStack>
            {scope('second')}
          </Region>
        </>
      ) : (
        scope('first')
      )}
      <TextField label="Name" {...field('name')} maxLength={100} />
      <TextField label="Description" {...field('description')} rows={2} />
      <div className="field">
        <Segments legend="Mode" choices={MODES} {...field('mode')} />
        <p className="hint">
          {forms.isRefusing(form)
            ? 'What would break it is refused, and no version that breaks it is published.'
            : 'It refuses nothing: writes are warned, and an alert fires while it is broken.'}
        </p>
      </div>
    </>
  );
}

/** The scope of a guarantee: a node with everything below it, and privileges there, or reading without masks and filters. */
function ScopeFields({ form, change, errors, at }: FieldsProps<forms.ScopeForm> & { at: string }) {
  const { place, catalog, schema, table, isUnfiltered } = form;
  const field = fieldsOf(form, change, errors);
  return (
    <>
      <PlaceFields form={form} change={change} error={errors[at] ?? errors['resource']} />
      {place === 'data' && (
        <div className="field">
          <ColumnCombobox table={[catalog, schema, table]} {...field('column')} placeholder="whole rows" />
          <Check
            value="unfiltered"
            text="Only reading without a row filter"
            all={isUnfiltered ? ['unfiltered'] : []}
            set={(all) => change({ isUnfiltered: all.length > 0 })}
          />
        </div>
      )}
      {!forms.isReading(form) && (
        <div className="field">
          <PrivilegeChecks node={offeredNode(form)} holder={null} {...field('privileges')} />
          <p className="hint">None chosen: {forms.defaultText('all of them', form)}.</p>
        </div>
      )}
    </>
  );
}

interface VerdictProps extends Pick<ReturnType<typeof useJudgement>, 'judged' | 'isJudging'> {
  form: forms.GuaranteeForm;
  /** The saved one; null: the form differs from it, or there is none. */
  saved: forms.Guarantee | null;
  makeReported: () => void;
}

/** Breaches that are shown at first. */
const FIRST = 3;

/** A guarantee as a sentence, whether it holds today, and what breaks it. */
function Verdict({ form, saved, judged, isJudging, makeReported }: VerdictProps) {
  const { state = null, broken_by: count = 0, witnesses = [], checked = null, not_about: others = [] } = judged ?? {};
  const [first, more] = useFirst(witnesses, FIRST);
  const isBroken = state === 'broken';
  const [look, icon] = isBroken
    ? [' verdict--no', 'cross']
    : state === null
      ? [' verdict--open', 'guarantee']
      : ['', 'check'];
  const since = saved?.since ? ` since ${momentText(new Date(saved.since), now())}` : '';
  const text = isBroken ? `Broken today by ${countText(count, 'breach', { plural: 'breaches' })}` : 'Holds today';
  return (
    <>
      <div className="answer">
        <span className={`verdict${look}`} aria-hidden="true">
          <Icon name={icon} />
        </span>
        <div>
          <h2 className="prose">
            <Sentence parts={forms.sentenceOf(form)} />.
          </h2>
          <p className="dim" role="status" aria-busy={isJudging}>
            {state !== null
              ? `${text}, judged ${checkedText(checked)}${isJudging ? ' · judging' : ''}`
              : isJudging
                ? 'Judging'
                : 'Choose a principal, privileges and a node to see whether it holds.'}
          </p>
        </div>
      </div>
      {isBroken && forms.isRefusing(form) && (
        <Notice
          tone="loss"
          title={
            saved === null
              ? 'Broken today: it cannot be enforced'
              : `Broken${since}: no version is published until it is mended`
          }
          text={`${saved === null ? '' : 'Revokes go out meanwhile. '}Mend what breaks it, change the sentence, or save it as reported.`}
          actions={<Button text="Make it reported" look="small" onClick={makeReported} />}
        />
      )}
      {isBroken && (
        <Region title="What breaks it" count={count}>
          {first.map((witness) => (
            <Breach key={witness.message} of={witness} />
          ))}
          {more}
          {count > witnesses.length && <p className="dim">The first {witnesses.length} can be shown.</p>}
        </Region>
      )}
      <Note>
        It is not about where rows travel: a view whose owner reads a table, or a copy, is another table.
        {others.length > 0 && ` Nor is it about service accounts: ${others.join(', ')}.`}
      </Note>
    </>
  );
}
