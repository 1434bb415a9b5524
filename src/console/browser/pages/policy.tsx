import { useMutation, useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { useLocation, useParams } from 'wouter';
import { useLastActor } from '../api/audit.js';
import { api, isProblem, Problem, type Schemas, versionOf } from '../api/client.js';
import { usePreview } from '../api/drafts.js';
import { accessChanged } from '../api/entries.js';
import { peopleText } from '../domain/count-text.js';
import { formOfPolicy, KIND_NAMES, missingIn, NEW_POLICY, type Policy, policyOfForm } from '../domain/policy-form.js';
import { Sign } from '../parts/change.js';
import { Checks, WhoGains, WhoLoses } from '../parts/changes.js';
import { ChangedMeanwhile } from '../parts/changed-meanwhile.js';
import { DeletePolicy, KIND_ICONS } from '../parts/policies.js';
import { Failure } from '../parts/failure.js';
import { Icon } from '../parts/icon.js';
import { Moment } from '../parts/moment.js';
import { PageHead } from '../parts/page.js';
import { Path } from '../parts/path.js';
import { PolicyFields } from '../parts/policy-fields.js';
import { RowComparison } from '../parts/row-comparison.js';
import { toast } from '../parts/toast.js';
import { NotHere } from './absent.js';

/** A policy and the version of it that was read. */
export interface Read {
  body: Policy;
  version: string;
}

const read = (id: number): Promise<Read> =>
  versionOf(api.GET('/api/admin/policies/{id}', { params: { path: { id } } }));

/** One policy, or a new one. */
export function PolicyPage({ me }: { me: Schemas['ConsoleAccountResponse'] }) {
  const { id: text = '' } = useParams();
  const id = Number(text);
  const isNew = text === 'new';
  const query = useQuery({
    queryKey: ['policy', id],
    enabled: !isNew && Number.isSafeInteger(id),
    staleTime: Infinity,
    gcTime: 0,
    queryFn: () => read(id),
  });
  if (isNew) return <PolicyEditor key="new" loaded={null} me={me} />;
  if (!Number.isSafeInteger(id) || isProblem(query.error, 'not_found')) return <NotHere />;
  if (query.data !== undefined) return <PolicyEditor key={id} loaded={query.data} me={me} />;
  return (
    <main id="main" tabIndex={-1} aria-busy={query.isPending}>
      <div className="stack">
        <PageHead title={`Policy ${id}`} />
        {query.isError && <Failure problem={query.error} retry={() => void query.refetch()} />}
      </div>
    </main>
  );
}

function PolicyEditor({ loaded, me }: { loaded: Read | null; me: Schemas['ConsoleAccountResponse'] }) {
  const [base, setBase] = useState(loaded);
  const [theirs, setTheirs] = useState<Read | null>(null);
  const [form, setForm] = useState(base === null ? NEW_POLICY : formOfPolicy(base.body));
  const [isTried, setTried] = useState(false);
  const [, go] = useLocation();
  const id = base?.body.id ?? null;
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
    onSuccess: async (saved, _, sent) => {
      const { id: number, warnings } = saved.body;
      toast({ text: `Policy ${number} is saved. It is live with the next publication.`, warnings });
      setBase(saved);
      setTried(false);
      // What was typed meanwhile stays, and with it this page.
      if (form === sent) {
        setForm(formOfPolicy(saved.body));
        if (loaded === null) go(`/policies/${saved.body.id}`);
      }
      await accessChanged();
    },
    onError: async (problem) => {
      if (id !== null && isProblem(problem, 'precondition_failed')) setTheirs(await read(id));
    },
  });
  const isOverwriting = isProblem(saving.error, 'precondition_failed');
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setTried(true);
    if (policy !== null && !saving.isPending) saving.mutate(policy);
  };
  return (
    <main id="main" tabIndex={-1}>
      <form className="stack" aria-label={id === null ? 'New policy' : `Policy ${id}`} onSubmit={submit} noValidate>
        <PageHead
          title={id === null ? 'New policy' : `Policy ${id}`}
          heading={base === null ? 'New policy' : <Heading policy={base.body} />}
          actions={
            <>
              {base !== null && <DeletePolicy policy={base} />}
              <button
                className="button button--primary"
                type="submit"
                aria-disabled={policy === null || saving.isPending}
                aria-busy={saving.isPending}
              >
                {saving.isPending ? 'Saving…' : 'Save'}
              </button>
            </>
          }
        >
          {base === null ? 'Nothing is written until you save it.' : <Changed policy={base.body} />}
        </PageHead>
        {theirs !== null && isOverwriting && (
          <ChangedMeanwhile
            theirs={theirs.body}
            mine={form}
            takeTheirs={() => {
              setForm(formOfPolicy(theirs.body));
              setBase(theirs);
              saving.reset();
            }}
            keepMine={() => {
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
          change={(part) => setForm((before) => ({ ...before, ...part }))}
          errors={{ ...(isTried && missingIn(form)), ...saidOf(saving.error ?? error) }}
        />
        <Consequence isComputing={isComputing} preview={preview} />
        {error !== null && saving.error === null && <Failure problem={error} retry={retry} />}
        <RowComparison draft={form} saved={base === null ? null : formOfPolicy(base.body)} userId={me.id} />
        {preview !== null && (
          <div className="pair">
            <WhoGains preview={preview} />
            <WhoLoses preview={preview} />
          </div>
        )}
        {preview !== null && preview.checks.length + preview.warnings.length > 0 && <Checks preview={preview} />}
      </form>
    </main>
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

/** Who is affected, in one sentence. */
function Consequence({ preview, isComputing }: Pick<ReturnType<typeof usePreview>, 'preview' | 'isComputing'>) {
  if (preview === null && !isComputing) return null;
  const { people_gaining: gaining = 0, people_losing: losing = 0 } = preview ?? {};
  return (
    <div className="notice">
      {gaining + losing === 0 ? <Icon name="info" /> : <Sign isLoss={losing > 0} />}
      <p role="status">
        {preview === null ? (
          'Computing who gains and who loses'
        ) : (
          <>
            <Effect count={losing} verb="lose" /> <Effect count={gaining} verb="gain" />
          </>
        )}
      </p>
    </div>
  );
}

function Effect({ count, verb }: { count: number; verb: string }) {
  if (count === 0) return <>Nobody {verb}s anything.</>;
  return (
    <b>
      {peopleText(count)} {count === 1 ? `${verb}s` : verb} access, or sight of rows or columns.
    </b>
  );
}

/** What the service said about each field of the policy, of the draft or of the write. */
function saidOf(error: Error | null): Record<string, string> {
  const fields = error instanceof Problem ? error.fields : [];
  return Object.fromEntries(
    fields.map(({ field, message }) => [
      field.replace(/^policies\.put\.0\./, '').split('.')[0] ?? field,
      `${message}.`,
    ]),
  );
}
