import { useMutation, useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { api, fieldErrorsOf, isProblem, type Schemas, type Versioned, versionOf } from '../api/client.js';
import { usePreview } from '../api/drafts.js';
import { refreshAccess, useLastActor } from '../api/entries.js';
import { useMe } from '../api/session.js';
import { readFirstRows, type Rows } from '../api/statements.js';
import { readRefusal } from '../domain/engine-refusal.js';
import {
  addressOfPolicy,
  formOfPolicy,
  KIND_NAMES,
  missingIn,
  NEW_POLICY,
  type Policy,
  POLICY_FIELDS,
  type PolicyForm,
  policyOfAddress,
  policyOfForm,
} from '../domain/policy-form.js';
import { rowSampleOf } from '../domain/row-sample.js';
import { whyAddress } from '../domain/why-address.js';
import { useFormInAddress, useSettled, useUnsaved } from '../parts/address.js';
import { ChangedMeanwhile } from '../parts/changed-meanwhile.js';
import { Checks, Side, Totals } from '../parts/changes.js';
import { Button, ButtonLink, Icon } from '../parts/controls.js';
import { Moment, Path } from '../parts/display.js';
import { Failure, failureText, showToast } from '../parts/notice.js';
import { EntryPage, Page, Region } from '../parts/page.js';
import { DeletePolicy, KIND_ICONS } from '../parts/policies.js';
import { PolicyFields } from '../parts/policy-fields.js';
import { DataTable } from '../parts/table.js';

type Read = Versioned<Policy>;

const read = (id: number): Promise<Read> =>
  versionOf(api.GET('/api/admin/policies/{id}', { params: { path: { id } } }));

/** One policy, or a new one. */
export function PolicyPage() {
  const { id: text = '' } = useParams();
  const id = Number(text);
  const isNew = text === 'new';
  const query = useQuery({
    queryKey: ['policy', id],
    enabled: !isNew,
    staleTime: Infinity,
    gcTime: 0,
    queryFn: () => read(id),
  });
  if (isNew) return <PolicyEditor key="new" loaded={null} />;
  return (
    <EntryPage title={`Policy ${text}`} query={query}>
      {(loaded) => <PolicyEditor key={id} loaded={loaded} />}
    </EntryPage>
  );
}

const FORM = 'policy-form';

function PolicyEditor({ loaded }: { loaded: Read | null }) {
  const [base, setBase] = useState(loaded);
  const [theirs, setTheirs] = useState<Read | null>(null);
  const saved = base === null ? NEW_POLICY : formOfPolicy(base.body);
  const [form, setForm] = useFormInAddress(
    (address) => policyOfAddress(address, saved),
    (draft) => addressOfPolicy(draft, saved),
  );
  const [isTried, setTried] = useState(false);
  const [, go] = useLocation();
  const id = base?.body.id ?? null;
  const isUnchanged = addressOfPolicy(form, saved).size === 0;
  useUnsaved(!isUnchanged);
  const title = id === null ? 'New policy' : `Policy ${id}`;
  const policy = policyOfForm(form);
  const put = policy && { ...policy, ...(id !== null && { id }) };
  const { preview, isComputing, error, retry } = usePreview(put && { policies: { put: [put] } });
  const saving = useMutation({
    mutationFn: (body: Schemas['PolicyDto']): Promise<Read> => {
      if (base === null) return versionOf(api.POST('/api/admin/policies', { body }));
      const params = { path: { id: base.body.id }, header: { 'If-Match': base.version } };
      return versionOf(api.PUT('/api/admin/policies/{id}', { params, body }));
    },
    onMutate: () => form,
    onSuccess: async (written, _, sent) => {
      const { id: number, warnings } = written.body;
      showToast({ text: `Policy ${number} is saved. It is live with the next publication.`, warnings });
      setBase(written);
      setTried(false);
      // Text that was typed meanwhile stays, and so does this page.
      if (form === sent) {
        setForm(formOfPolicy(written.body));
        if (loaded === null) go(`/policies/${number}`);
      }
      await refreshAccess();
    },
    onError: async (problem) => {
      if (id !== null && isProblem(problem, 'precondition_failed')) setTheirs(await read(id));
    },
  });
  const isOverwriting = isProblem(saving.error, 'precondition_failed');
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setTried(true);
    if (policy !== null && !isUnchanged && !saving.isPending) saving.mutate(policy);
  };
  return (
    <Page
      isForm
      title={title}
      heading={base === null ? title : <Heading policy={base.body} />}
      intro={base === null ? 'Nothing is written until you save it.' : <Changed policy={base.body} />}
      actions={
        <>
          {base !== null && <ButtonLink text="History" href={`/audit?subject=policy:${base.body.id}`} />}
          {base !== null && <DeletePolicy policy={base} />}
          <Button
            text={saving.isPending ? 'Saving…' : 'Save'}
            look="primary"
            type="submit"
            form={FORM}
            isOff={policy === null || isUnchanged || saving.isPending}
            aria-busy={saving.isPending}
          />
        </>
      }
    >
      <form id={FORM} className="stack" aria-label={title} onSubmit={submit} noValidate>
        {theirs !== null && isOverwriting && (
          <ChangedMeanwhile
            what="policy"
            by={<LastActor policy={theirs.body} />}
            at={theirs.body.changed_at}
            fields={POLICY_FIELDS}
            theirs={formOfPolicy(theirs.body)}
            mine={form}
            choose={(chosen) => {
              setForm(chosen);
              setBase(theirs);
              saving.reset();
            }}
          />
        )}
        {saving.error !== null && !(isOverwriting && theirs !== null) && (
          <Failure problem={saving.error} retry={() => policy !== null && saving.mutate(policy)} />
        )}
        <PolicyFields
          form={form}
          change={(part) => {
            setForm((before) => ({ ...before, ...part }));
            if (saving.isError && !isOverwriting) saving.reset();
          }}
          errors={{ ...(isTried && missingIn(form)), ...fieldErrorsOf(saving.error ?? error) }}
        />
        <Totals preview={preview} isComputing={isComputing} />
        {error !== null && saving.error === null && <Failure problem={error} retry={retry} />}
        <RowComparison draft={form} saved={base === null ? null : saved} />
        {preview !== null && (
          <div className="pair">
            <Side of={preview} side="gains" />
            <Side of={preview} side="loses" />
          </div>
        )}
        {preview !== null && preview.checks.length + preview.warnings.length > 0 && <Checks preview={preview} />}
      </form>
    </Page>
  );
}

function Changed({ policy: { id, kind, changed_at: at } }: { policy: Policy }) {
  const by = useLastActor(id, at);
  return (
    <>
      {KIND_NAMES[kind]}, policy {id}, changed <Moment at={at} />
      {by !== undefined && ` by ${by}`}
    </>
  );
}

function LastActor({ policy: { id, changed_at: at } }: { policy: Policy }) {
  return useLastActor(id, at) ?? 'Somebody';
}

function Heading({ policy: { kind, resource, privileges } }: { policy: Policy }) {
  const { column = '' } = resource as { column?: string };
  const [verb, what, preposition] = {
    row_filter: ['Filter rows', '', 'of'],
    column_mask: ['Mask', column, 'in'],
    hidden_column: ['Hide', column, 'in'],
    deny: ['Deny', privileges?.join(', ') ?? '', 'on'],
  }[kind];
  return (
    <>
      <Icon name={KIND_ICONS[kind]} /> {verb} {what !== '' && <span className="path">{what}</span>} {preposition}{' '}
      <Path node={resource} />
    </>
  );
}

/** Milliseconds without a change before the statement runs. */
const PAUSE = 600;

/** Rows of the policy's table under one's own name, as saved (null: it is new) and as drafted; or why there are none. */
function RowComparison({ draft, saved }: { draft: PolicyForm; saved: PolicyForm | null }) {
  const sample = rowSampleOf(draft, saved);
  const sql = useSettled('sql' in sample ? sample.sql : '', PAUSE);
  const { data, error } = useQuery({
    queryKey: ['rows', sql],
    enabled: sql !== '',
    staleTime: 60_000,
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) => readFirstRows(sql, 'most' in sample ? sample.most : 0, signal),
  });
  const isCurrent = 'sql' in sample && sample.sql === sql;
  const sides = isCurrent && data !== undefined ? sample.read(data) : null;
  const reason =
    'reason' in sample ? sample.reason : error !== null && isCurrent ? <NoRows error={error} /> : 'Reading rows';
  return (
    <div className="pair">
      <Region title="Rows before" count={saved === null ? 'as you see them' : 'with the policy as it is saved'}>
        {sides === null ? <p className="dim">{reason}</p> : <SideRows name="Before" rows={sides.before} />}
      </Region>
      <Region title="Rows after" count="with what stands above">
        {sides === null ? (
          <p className="dim">{reason}</p>
        ) : (
          <SideRows name="After" rows={sides.after} marked={draft.kind === 'column_mask' ? draft.column : null} />
        )}
      </Region>
    </div>
  );
}

function NoRows({ error }: { error: Error }) {
  const { id } = useMe();
  const refused = readRefusal(error.message);
  return (
    <>
      {failureText(error)}{' '}
      {refused !== null && <Link href={whyAddress({ type: 'user', id }, refused.privilege, refused.node)}>Why?</Link>}
    </>
  );
}

function SideRows({ name, rows, marked = null }: { name: string; rows: Rows; marked?: string | null }) {
  return rows.rows.length === 0 ? <p className="dim">No row.</p> : <DataTable name={name} {...rows} marked={marked} />;
}
