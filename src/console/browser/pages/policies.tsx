import { useMutation, useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { Link, useParams } from 'wouter';
import { api, fieldErrorsOf, isProblem, type Schemas, type VersionedBody, versionedBodyOf } from '../api/client.js';
import { useLastActor, usePolicies, usePreview } from '../api/entries.js';
import { useOwnAccount } from '../api/session.js';
import { readFirstRows, type Rows } from '../api/statements.js';
import { listText } from '../domain/count-text.js';
import * as forms from '../domain/policy-form.js';
import { rowSampleOf } from '../domain/row-sample.js';
import { parseRefusal } from '../domain/sql-statement.js';
import { whyAddress } from '../domain/why-address.js';
import { useDebounced, useUnsavedWarning } from '../parts/address.js';
import { Checks, DraftOutcomes, DraftTotals, MorePeople } from '../parts/changes.js';
import { Button, ButtonLink, Icon } from '../parts/controls.js';
import { Moment, Path } from '../parts/display.js';
import { DeletePolicyButton, KIND_ICONS, PolicyTable } from '../parts/entries.js';
import { ChangedMeanwhile, useEditedEntry, useEntryEditor } from '../parts/entry-editor.js';
import { ENTRY_FILTERS, entryQueryOf, FilterBar, useFilters } from '../parts/filter-bar.js';
import { showErrors } from '../parts/form.js';
import { Failure, failureText, showToast } from '../parts/notice.js';
import { EmptyList, EntryPage, Page, Region } from '../parts/page.js';
import { PolicyFields } from '../parts/policy-fields.js';
import { DataTable } from '../parts/table.js';

export function Policies() {
  const { values } = useFilters(ENTRY_FILTERS);
  const list = usePolicies(entryQueryOf(values));
  return (
    <Page
      isCompact
      title="Policies"
      intro="What takes from grants: rows that are filtered, columns that are masked or hidden, and denies."
      actions={<ButtonLink text="New policy" look="primary" icon="plus" href="/policies/new" />}
    >
      <FilterBar placeholder="Search policies" filters={ENTRY_FILTERS}>
        {listText(list, 'policy', 'policies')}
      </FilterBar>
      <PolicyTable
        list={list}
        emptyState={
          <EmptyList
            filterValues={values}
            entryKind="policy"
            title="No policy yet"
            text="Grants give all rows and columns of what they name."
          />
        }
      />
    </Page>
  );
}

type LoadedPolicy = VersionedBody<forms.Policy>;

const POLICIES = {
  name: 'policy',
  folder: '/policies',
  read: (id: number) => versionedBodyOf(api.GET('/api/admin/policies/{id}', { params: { path: { id } } })),
  formOf: forms.formOfPolicy,
  newForm: forms.NEW_POLICY,
  fromAddress: forms.policyFormFromAddress,
  toAddress: forms.addressOfPolicy,
  fields: forms.POLICY_FIELDS,
  lastActor: (policy: forms.Policy) => <LastActor policy={policy} />,
};

export function PolicyPage() {
  const { id: idText = '' } = useParams();
  const isNew = idText === 'new';
  const query = useEditedEntry(POLICIES, isNew ? null : Number(idText));
  if (isNew) return <PolicyEditor key="new" loadedPolicy={null} />;
  return (
    <EntryPage title={`Policy ${idText}`} query={query}>
      {(loadedPolicy) => <PolicyEditor key={idText} loadedPolicy={loadedPolicy} />}
    </EntryPage>
  );
}

const FORM_ID = 'policy-form';

function PolicyEditor({ loadedPolicy }: { loadedPolicy: LoadedPolicy | null }) {
  const editor = useEntryEditor(POLICIES, loadedPolicy, (): void => saveMutation.reset());
  const { base, savedForm, form, isUnchanged } = editor;
  const [isSubmitted, setSubmitted] = useState(false);
  const id = base?.body.id ?? null;
  useUnsavedWarning(!isUnchanged);
  const title = id === null ? 'New policy' : `Policy ${id}`;
  const policy = forms.policyOfForm(form);
  const draft = policy && { ...policy, ...(id !== null && { id }) };
  const { preview, isComputing, error, retry, readMore } = usePreview(draft && { policies: { put: [draft] } });
  const saveMutation = useMutation({
    mutationFn: (body: Schemas['PolicyDto']): Promise<LoadedPolicy> => {
      if (base === null) return versionedBodyOf(api.POST('/api/admin/policies', { body }));
      const params = { path: { id: base.body.id }, header: { 'If-Match': base.version } };
      return versionedBodyOf(api.PUT('/api/admin/policies/{id}', { params, body }));
    },
    onMutate: (): forms.PolicyForm => form,
    onSuccess: async (savedPolicy, _, sentForm) => {
      const { id: savedId, warnings } = savedPolicy.body;
      showToast({ text: `Policy ${savedId} is saved. It is live with the next publication.`, warnings });
      setSubmitted(false);
      await editor.onSaved(savedPolicy, sentForm);
    },
  });
  const isChangedMeanwhile = isProblem(saveMutation.error, 'precondition_failed');
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    showErrors(event.currentTarget, () => setSubmitted(true));
    if (policy !== null && !isUnchanged && !saveMutation.isPending) saveMutation.mutate(policy);
  };
  return (
    <Page
      isForm
      title={title}
      heading={base === null ? title : <PolicyHeading policy={base.body} />}
      intro={base === null ? 'Nothing is written until you save it.' : <LastChange policy={base.body} />}
      actions={
        <>
          {base !== null && <ButtonLink text="History" href={`/audit?subject=policy:${base.body.id}`} />}
          {base !== null && <DeletePolicyButton policy={base} />}
          <Button
            text={saveMutation.isPending ? 'Saving…' : 'Save'}
            look="primary"
            type="submit"
            form={FORM_ID}
            isDisabled={policy === null || isUnchanged || saveMutation.isPending}
            aria-busy={saveMutation.isPending}
          />
        </>
      }
    >
      <form id={FORM_ID} className="stack" aria-label={title} onSubmit={submit} noValidate>
        <ChangedMeanwhile editor={editor} />
        {saveMutation.error !== null && !(isChangedMeanwhile && editor.theirs !== null) && (
          <Failure problem={saveMutation.error} retry={() => policy !== null && saveMutation.mutate(policy)} />
        )}
        <PolicyFields
          form={form}
          change={(changes) => {
            editor.change(changes);
            if (saveMutation.isError && !isChangedMeanwhile) saveMutation.reset();
          }}
          errors={{ ...(isSubmitted && forms.missingFieldTexts(form)), ...fieldErrorsOf(saveMutation.error ?? error) }}
        />
        <DraftTotals preview={preview} isComputing={isComputing} />
        {error !== null && saveMutation.error === null && <Failure problem={error} retry={retry} />}
        <RowComparison draft={form} savedPolicy={base === null ? null : savedForm} />
        {preview !== null && (
          <div className="pair">
            <DraftOutcomes preview={preview} direction="gains" />
            <DraftOutcomes preview={preview} direction="loses" />
          </div>
        )}
        <MorePeople readMore={readMore} />
        {preview !== null && preview.checks.length + preview.warnings.length > 0 && <Checks preview={preview} />}
      </form>
    </Page>
  );
}

function LastChange({ policy }: { policy: forms.Policy }) {
  const changedBy = useLastActor(policy);
  return (
    <>
      {forms.POLICY_KIND_NAMES[policy.kind]}, policy {policy.id}, changed <Moment time={policy.changed_at} />
      {changedBy !== undefined && ` by ${changedBy}`}
    </>
  );
}

function LastActor({ policy }: { policy: forms.Policy }) {
  return useLastActor(policy) ?? 'Somebody';
}

function PolicyHeading({ policy: { kind, resource, privileges } }: { policy: forms.Policy }) {
  const { column = '' } = resource as { column?: string };
  const [verb, object, preposition] = {
    row_filter: ['Filter rows', '', 'of'],
    column_mask: ['Mask', column, 'in'],
    hidden_column: ['Hide', column, 'in'],
    deny: ['Deny', privileges?.join(', ') ?? '', 'on'],
  }[kind];
  return (
    <>
      <Icon name={KIND_ICONS[kind]} /> {verb} {object !== '' && <span className="path">{object}</span>} {preposition}{' '}
      <Path node={resource} />
    </>
  );
}

/** Rows of the policy's table under the saved policy (null: there is none) and under the draft, as the signed-in person would read them. */
function RowComparison({ draft, savedPolicy }: { draft: forms.PolicyForm; savedPolicy: forms.PolicyForm | null }) {
  const sample = rowSampleOf(draft, savedPolicy);
  const debouncedSql = useDebounced('sql' in sample ? sample.sql : '', 600);
  const { data, error } = useQuery({
    queryKey: ['rows', debouncedSql],
    enabled: debouncedSql !== '',
    staleTime: 60_000,
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) => readFirstRows(debouncedSql, 'maxRows' in sample ? sample.maxRows : 0, signal),
  });
  const isSqlCurrent = 'sql' in sample && sample.sql === debouncedSql;
  const rowPair = isSqlCurrent && data !== undefined ? sample.splitRows(data) : null;
  const noRowsReason =
    'reason' in sample ? sample.reason : error !== null && isSqlCurrent ? <NoRows error={error} /> : 'Reading rows';
  const noRowsNote = <p className="dim">{noRowsReason}</p>;
  const maskedColumn = draft.kind === 'column_mask' ? draft.column : null;
  return (
    <div className="pair">
      <Region title="Rows before" count={savedPolicy === null ? 'as you see them' : 'with the policy as it is saved'}>
        {rowPair === null ? noRowsNote : <RowsTable name="Before" rows={rowPair.before} />}
      </Region>
      <Region title="Rows after" count="with what stands above">
        {rowPair === null ? noRowsNote : <RowsTable name="After" rows={rowPair.after} markedColumn={maskedColumn} />}
      </Region>
    </div>
  );
}

function NoRows({ error }: { error: Error }) {
  const { id } = useOwnAccount();
  const refusal = parseRefusal(error.message);
  return (
    <>
      {failureText(error)}{' '}
      {refusal !== null && <Link href={whyAddress({ type: 'user', id }, refusal.privilege, refusal.node)}>Why?</Link>}
    </>
  );
}

function RowsTable({ rows, ...props }: { name: string; rows: Rows; markedColumn?: string | null }) {
  return rows.rows.length === 0 ? <p className="dim">No row.</p> : <DataTable {...props} {...rows} />;
}
