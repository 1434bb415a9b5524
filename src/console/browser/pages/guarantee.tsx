import { useState } from 'react';
import { useLocation, useParams } from 'wouter';
import { api, bodyOf, fieldErrorsOf, isProblem, type VersionedBody, versionedBodyOf } from '../api/client.js';
import { readGuarantee, refreshAccess, useJudgement } from '../api/entries.js';
import { queryClient } from '../api/session.js';
import { breachesText } from '../domain/count-text.js';
import { offeredNode } from '../domain/grant-form.js';
import * as forms from '../domain/guarantee-form.js';
import { momentText } from '../domain/moment-text.js';
import { now } from '../now.js';
import { ActionButton, ProofForm } from '../parts/action-dialog.js';
import { useUnsavedWarning } from '../parts/address.js';
import { Button, ButtonLink, Icon } from '../parts/controls.js';
import { Moment } from '../parts/display.js';
import { ChangedMeanwhile, useEditedEntry, useEntryEditor } from '../parts/entry-editor.js';
import { Checkbox, fieldsOf, type FieldsProps, Segments, TextField } from '../parts/form.js';
import { Failure, Note, Notice, showToast } from '../parts/notice.js';
import { EntryPage, PageHead, Region } from '../parts/page.js';
import { NodeFields, PrivilegeChecks } from '../parts/node-fields.js';
import { ColumnCombobox, PrincipalsField } from '../parts/policy-fields.js';
import { PrincipalCombobox } from '../parts/combobox.js';
import { Sentence } from '../parts/sentence.js';
import { useShowMore } from '../parts/table.js';
import { Breach } from '../parts/why-chains.js';
import { checkedText } from './guarantees.js';

const GUARANTEES = {
  name: 'guarantee',
  folder: '/guarantees',
  read: readGuarantee,
  formOf: forms.formOfGuarantee,
  newForm: forms.NEW_GUARANTEE,
  fromAddress: forms.guaranteeFromAddress,
  toAddress: forms.addressOfGuarantee,
  fields: forms.GUARANTEE_FIELDS,
  lastActor: (guarantee: forms.Guarantee) => guarantee.written_by?.name ?? 'The command line',
};

export function GuaranteePage() {
  const { id = '' } = useParams();
  const isNew = id === 'new';
  const query = useEditedEntry(GUARANTEES, isNew ? null : Number(id));
  if (isNew) return <GuaranteeEditor key={id} loadedGuarantee={null} />;
  return (
    <EntryPage title="Guarantee" query={query}>
      {(loadedGuarantee) => <GuaranteeEditor key={id} loadedGuarantee={loadedGuarantee} />}
    </EntryPage>
  );
}

type LoadedGuarantee = VersionedBody<forms.Guarantee>;

function GuaranteeEditor({ loadedGuarantee }: { loadedGuarantee: LoadedGuarantee | null }) {
  const editor = useEntryEditor(GUARANTEES, loadedGuarantee);
  const { base, form, change, isUnchanged, isInAddress } = editor;
  const guarantee = base?.body ?? null;
  const [isSubmitted, setSubmitted] = useState(false);
  const [, navigate] = useLocation();
  useUnsavedWarning(!isUnchanged && !isInAddress);
  const body = forms.guaranteeOfForm(form);
  const judgement = useJudgement(body);
  const { error, retry } = judgement;
  const title = guarantee?.name ?? 'New guarantee';
  const params = { path: { id: guarantee?.id ?? 0 }, header: { 'If-Match': base?.version ?? '*' } };
  const save = async (): Promise<LoadedGuarantee | null> => {
    setSubmitted(true);
    if (body === null || body.name === '') throw new Error('Fill in what is missing.');
    if (guarantee === null) return versionedBodyOf(api.POST('/api/admin/guarantees', { body }));
    try {
      return await versionedBodyOf(api.PUT('/api/admin/guarantees/{id}', { params, body }));
    } catch (problem) {
      if (!isProblem(problem, 'precondition_failed')) throw problem;
      await queryClient.invalidateQueries({ queryKey: [GUARANTEES.name, guarantee.id] });
      return null;
    }
  };
  return (
    <main id="main" className="split split--draft" tabIndex={-1}>
      <div className="stack">
        <PageHead
          title={title}
          intro={
            guarantee === null ? (
              'Nothing is written until you save it.'
            ) : (
              <>
                Written <Moment time={guarantee.changed_at} /> by {guarantee.written_by?.name ?? 'the command line'}.
              </>
            )
          }
          actions={
            guarantee !== null && (
              <>
                <ButtonLink text="History" href={`/audit?subject=guarantee:${guarantee.id}`} />
                <ActionButton
                  title={`Delete ${guarantee.name}?`}
                  action="Delete"
                  isDanger
                  proof="recent"
                  run={() => bodyOf(api.DELETE('/api/admin/guarantees/{id}', { params }))}
                  onDone={() => {
                    showToast({ text: `${guarantee.name} is deleted.` });
                    return refreshAccess(() => navigate('/guarantees'));
                  }}
                  button={{ text: 'Delete…', look: 'danger quiet' }}
                >
                  <p>
                    {forms.isBlocking(guarantee) ? 'Then nothing refuses what it forbids.' : 'It is no longer judged.'}
                  </p>
                </ActionButton>
              </>
            )
          }
        />
        <ProofForm
          label={title}
          action="Save"
          isDisabled={guarantee !== null && isUnchanged}
          proof={guarantee === null || isUnchanged ? undefined : 'recent'}
          values={form}
          returnSearch={isInAddress ? editor.address : undefined}
          run={async () => ({ written: await save(), sent: form })}
          onDone={({ written, sent }) => {
            if (written === null) return;
            showToast({ text: `${written.body.name} is saved.` });
            void editor.onSaved(written, sent);
          }}
          close={() => navigate('/guarantees')}
        >
          {() => (
            <>
              <ChangedMeanwhile editor={editor} />
              <GuaranteeFields
                form={form}
                change={change}
                errors={{ ...(isSubmitted && forms.missingFieldTexts(form)), ...fieldErrorsOf(error) }}
              />
            </>
          )}
        </ProofForm>
      </div>
      <div className="sunken stack">
        <Verdict
          form={form}
          savedGuarantee={isUnchanged ? guarantee : null}
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

function GuaranteeFields({ form, change, errors }: FieldsProps<forms.GuaranteeForm>) {
  const { kind } = form;
  const field = fieldsOf(form, change, errors);
  const scopeFields = (name: 'first' | 'second') => {
    const { value, set } = field(name);
    const changeScope = (changes: Partial<forms.ScopeForm>): void => set({ ...value, ...changes });
    return <ScopeFields form={value} change={changeScope} errors={errors} field={name} />;
  };
  return (
    <>
      <Segments legend="Kind" choices={forms.GUARANTEE_KINDS} {...field('kind')} />
      {kind === 'at_most' && <TextField label="People and engine principals" {...field('count')} />}
      {kind === 'only' ? (
        <PrincipalsField title="Who may" addLabel="Person or group" {...field('except')} error={errors['principals']} />
      ) : (
        <PrincipalCombobox {...field('principal')} placeholder={forms.isEveryoneByDefault(kind) ? 'Everyone' : ''} />
      )}
      {forms.hasExceptions(kind) && <PrincipalsField title="Except" addLabel="Exception" {...field('except')} />}
      {kind === 'apart' ? (
        <>
          <Region title="First" isTightStack>
            {scopeFields('first')}
          </Region>
          <Region title="Second" isTightStack>
            {scopeFields('second')}
          </Region>
        </>
      ) : (
        scopeFields('first')
      )}
      <TextField label="Name" {...field('name')} maxLength={100} />
      <TextField label="Description" {...field('description')} rows={2} />
      <div className="field">
        <Segments legend="Mode" choices={MODES} {...field('mode')} />
        <p className="hint">
          {forms.isBlocking(form)
            ? 'What would break it is refused, and no version that breaks it is published.'
            : 'It refuses nothing: writes are warned, and an alert fires while it is broken.'}
        </p>
      </div>
    </>
  );
}

function ScopeFields({ form, change, errors, field: errorField }: FieldsProps<forms.ScopeForm> & { field: string }) {
  const { nodeKind, catalog, schema, table, isUnfiltered } = form;
  const field = fieldsOf(form, change, errors);
  return (
    <>
      <NodeFields form={form} change={change} error={errors[errorField] ?? errors['resource']} />
      {nodeKind === 'data' && (
        <div className="field">
          <ColumnCombobox tablePath={[catalog, schema, table]} {...field('column')} placeholder="whole rows" />
          <Checkbox
            value="unfiltered"
            text="Only reading without a row filter"
            values={isUnfiltered ? ['unfiltered'] : []}
            set={(values) => change({ isUnfiltered: values.length > 0 })}
          />
        </div>
      )}
      {!forms.isUnrestrictedReading(form) && (
        <div className="field">
          <PrivilegeChecks node={offeredNode(form)} holder={null} {...field('privileges')} />
          <p className="hint">If none is chosen: {forms.defaultPrivilegesText('all of them', form)}.</p>
        </div>
      )}
    </>
  );
}

interface VerdictProps extends Pick<ReturnType<typeof useJudgement>, 'judgement' | 'isJudging'> {
  form: forms.GuaranteeForm;
  /** The saved guarantee; null: the guarantee is new, or the form differs from the saved one. */
  savedGuarantee: forms.Guarantee | null;
  makeReported: () => void;
}

function Verdict({ form, savedGuarantee, judgement, isJudging, makeReported }: VerdictProps) {
  const { state = null, broken_by: breachCount = 0, witnesses = [], checked = null, not_about = [] } = judgement ?? {};
  const [shownWitnesses, moreButton] = useShowMore(witnesses, 3);
  const isBroken = state === 'broken';
  const [verdictClass, icon] = isBroken
    ? [' verdict--no', 'cross']
    : state === null
      ? [' verdict--open', 'guarantee']
      : ['', 'check'];
  const sinceText = savedGuarantee?.since ? ` since ${momentText(new Date(savedGuarantee.since), now())}` : '';
  const stateText = isBroken ? `Broken today by ${breachesText(breachCount)}` : 'Holds today';
  return (
    <>
      <div className="answer">
        <span className={`verdict${verdictClass}`} aria-hidden="true">
          <Icon name={icon} />
        </span>
        <div>
          <h2 className="prose">
            <Sentence parts={forms.guaranteeSentence(form)} />.
          </h2>
          <p className="dim" role="status" aria-busy={isJudging}>
            {state !== null
              ? `${stateText}, judged ${checkedText(checked)}${isJudging ? ' · judging' : ''}`
              : isJudging
                ? 'Judging'
                : 'Choose a principal, privileges and a node to see whether it holds.'}
          </p>
        </div>
      </div>
      {isBroken && forms.isBlocking(form) && (
        <Notice
          tone="loss"
          title={
            savedGuarantee === null
              ? 'Broken today: it cannot be enforced'
              : `Broken${sinceText}: no version is published until it is mended`
          }
          text={`${savedGuarantee === null ? '' : 'Revokes go out meanwhile. '}Mend what breaks it, change the sentence, or save it as reported.`}
          actions={<Button text="Make it reported" look="small" onClick={makeReported} />}
        />
      )}
      {isBroken && (
        <Region title="What breaks it" count={breachCount}>
          {shownWitnesses.map((witness) => (
            <Breach key={witness.message} witness={witness} />
          ))}
          {moreButton}
          {breachCount > witnesses.length && <p className="dim">The first {witnesses.length} can be shown.</p>}
        </Region>
      )}
      <Note>
        It is not about where rows travel: a view whose owner reads a table, or a copy, is another table.
        {not_about.length > 0 && ` Nor is it about service accounts: ${not_about.join(', ')}.`}
      </Note>
    </>
  );
}
