import { useMutation, useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { api, bodyOf, fieldErrorsOf } from '../api/client.js';
import { refreshAccess, useGrants, useOneGrant, usePreview, useUnusedGrants } from '../api/entries.js';
import { countText, listText, peopleText } from '../domain/count-text.js';
import * as forms from '../domain/grant-form.js';
import { daysUntil, type Expiry, parseExpiry } from '../domain/moment-text.js';
import { addressOfNode, pathText } from '../domain/node-path.js';
import { parsePrincipal, principalParameter } from '../domain/principal.js';
import { now } from '../now.js';
import { useFormInAddress, useUnsavedWarning } from '../parts/address.js';
import { DraftCounts, DraftEffects, DraftTotals } from '../parts/changes.js';
import { PrincipalCombobox } from '../parts/combobox.js';
import { Button, ButtonLink } from '../parts/controls.js';
import { GrantTable, NewGrantLink } from '../parts/entries.js';
import {
  ENTRY_FILTERS,
  entryQueryOf,
  type Filter,
  FilterBar,
  type FilterValues,
  momentFilter,
  useFilters,
  withMoments,
} from '../parts/filter-bar.js';
import { Checkbox, fieldsOf, showErrors, TextField } from '../parts/form.js';
import { NodeFields, PrivilegeChecks } from '../parts/node-fields.js';
import { Failure, showToast } from '../parts/notice.js';
import { EmptyList, Page, PageHead } from '../parts/page.js';

/** With the parameter `grant` the page shows that grant alone, and with `unused` the grants that were not used in so many days. */
const FILTERS: readonly Filter[] = [
  { parameter: 'state', name: 'State', choices: { live: 'live', expired: 'expired', revoked: 'revoked', all: 'all' } },
  ...ENTRY_FILTERS,
  momentFilter('expires_before', 'Ends before', [1, 7, 30, 90]),
  { parameter: 'grant', name: 'Grant' },
  {
    parameter: 'unused',
    name: 'Decided nothing',
    choices: { 7: 'in 7 days', 30: 'in 30 days', 90: 'in 90 days' },
  },
];

export function Grants() {
  const { values } = useFilters(FILTERS);
  const { grant: id, unused: days, ...filters } = values;
  const query = entryQueryOf(withMoments(filters, 'expires_before'));
  const allGrants = useGrants(query, id === undefined && days === undefined);
  const oneGrantList = useOneGrant(id);
  const unusedGrants = useUnusedGrants(id === undefined ? days : undefined);
  const list = id !== undefined ? oneGrantList : days !== undefined ? unusedGrants : allGrants;
  const hasDecisionLogs = days !== undefined || list.items?.some((grant) => grant.unused_since !== undefined) === true;
  return (
    <Page isCompact title="Grants" actions={<NewGrantLink isPrimary />}>
      <FilterBar placeholder="Search grants" filters={hasDecisionLogs ? FILTERS : FILTERS.slice(0, -1)}>
        {listText(list, 'grant')}
      </FilterBar>
      <GrantTable
        name="Grants"
        list={list}
        emptyState={
          <EmptyList
            filterValues={values}
            entryKind="grant"
            title="No grant yet"
            text="Nobody may read or change anything until something is granted. Begin with New grant."
            suggestion={<AccessThroughGroups values={values} />}
          />
        }
      />
    </Page>
  );
}

/** Shown when a search for a person finds no grant: the number of nodes to which the person has access through groups. */
function AccessThroughGroups({ values: { principal, q = '' } }: { values: FilterValues }) {
  const searchedPrincipal = parsePrincipal(principal ?? null);
  const { data } = useQuery({
    queryKey: ['effective-access', 'through-groups', principal, q],
    enabled: searchedPrincipal?.type === 'user' || (principal === undefined && q !== ''),
    queryFn: async () => {
      const person =
        searchedPrincipal?.id === undefined
          ? (await bodyOf(api.GET('/api/admin/users', { params: { query: { q, limit: 1 } } }))).items[0]
          : await bodyOf(api.GET('/api/admin/users/{id}', { params: { path: { id: searchedPrincipal.id } } }));
      if (person === undefined) return null;
      const query = { principal: `user:${person.id}`, limit: 200 };
      const { items, next } = await bodyOf(api.GET('/api/admin/access/effective', { params: { query } }));
      const nodes = items.filter(({ origins }) => origins.some(({ through }) => typeof through === 'object'));
      return { person, nodes: nodes.length, hasMore: next !== null };
    },
  });
  if (data === undefined || data === null || data.nodes === 0) return null;
  const { person, nodes, hasMore } = data;
  return (
    <p role="status">
      <Link href={`/people/${person.id}`}>{person.username}</Link> reaches {countText(nodes, 'node', { hasMore })}{' '}
      through groups.
    </p>
  );
}

/** The form of a grant, beside its preview. */
export function GrantDraft() {
  const [form, setForm, isInAddress] = useFormInAddress(forms.grantFormFromAddress, forms.addressOfGrantForm);
  useUnsavedWarning(!isInAddress);
  const [, navigate] = useLocation();
  const [isSubmitted, setSubmitted] = useState(false);
  const expiry = parseExpiry(form.expires, now());
  const grant = 'problem' in expiry ? null : forms.grantOfForm(form, expiry.expiresAt);
  const draft = grant && { grant: [grant], revoke: form.revokedIds };
  const mutation = useMutation({
    mutationFn: () => bodyOf(api.POST('/api/admin/grants/batch', { body: draft ?? {} })),
    onSuccess: ({ granted }) => {
      const privilegesText = grant?.privileges.join(', ') ?? '';
      const node = grant?.resource ?? {};
      showToast({
        text: `Granted ${privilegesText} on ${pathText(node)}. It is live with the next publication.`,
        link: { href: addressOfNode(node), text: 'See who' },
        warnings: granted.flatMap(({ warnings = [] }) => warnings),
      });
      return refreshAccess(() => navigate('/grants'));
    },
  });
  const change = (changes: Partial<forms.GrantForm>): void => {
    // The grants to revoke are those that this one replaces for its principal on its node.
    const isTargetChanged = ['principal', 'nodeKind', 'catalog'].some((field) => field in changes);
    setForm((oldForm) => ({ ...oldForm, ...(isTargetChanged && { revokedIds: [] }), ...changes }));
    if (mutation.isError) mutation.reset();
  };
  const preview = usePreview(draft, mutation.isPending);
  const { isComputing, error } = preview;
  const errors = { ...(isSubmitted && forms.missingFieldTexts(form)), ...fieldErrorsOf(mutation.error ?? error) };
  const field = fieldsOf(form, change, errors);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    showErrors(event.currentTarget, () => setSubmitted(true));
    if (grant !== null && !isComputing && !mutation.isPending) mutation.mutate();
  };
  const gainCount = preview.preview?.people_gaining ?? 0;
  return (
    <main id="main" className="split split--draft" tabIndex={-1}>
      <form className="stack" aria-label="New grant" onSubmit={submit} noValidate>
        <PageHead title="New grant" intro="Nothing is written until you grant it." />
        <PrincipalCombobox {...field('principal')} />
        <NodeFields form={form} change={change} error={errors['resource']} />
        <PrivilegeChecks node={forms.offeredNode(form)} holder={form.principal} {...field('privileges')} />
        <ReplacedGrants form={form} set={field('revokedIds').set} />
        <TextField
          label="Expires"
          {...field('expires')}
          hint={expiryHint(expiry)}
          error={'problem' in expiry ? expiry.problem : errors['expires_at']}
          placeholder="never"
        />
        <TextField label="Description" {...field('description')} rows={2} />
        {mutation.isError && <Failure problem={mutation.error} retry={() => mutation.mutate()} />}
        <div className="actions actions--sticky">
          <Button
            text={mutation.isPending ? 'Granting…' : gainCount === 0 ? 'Grant' : `Grant to ${peopleText(gainCount)}`}
            look="primary"
            type="submit"
            isDisabled={grant === null || isComputing || mutation.isPending}
          />
          <ButtonLink text="Cancel" look="quiet" href="/grants" />
          <DraftCounts {...preview} />
        </div>
      </form>
      <div className="sunken stack">
        {draft === null ? (
          <p className="dim" role="status">
            {'problem' in expiry
              ? 'Correct the date: who gains and who loses stands here then.'
              : 'Say to whom, on what, and what they may: who gains and who loses stands here.'}
          </p>
        ) : (
          <DraftTotals {...preview} />
        )}
        <DraftEffects {...preview} error={mutation.isError ? null : error} />
      </div>
    </main>
  );
}

function expiryHint(expiry: Expiry): string {
  if (!('expiresAt' in expiry) || expiry.expiresAt === null)
    return 'Empty: until it is revoked. A day, such as 2027-03-31, is meant to its end in UTC.';
  const days = daysUntil(expiry.expiresAt, now());
  return `${expiry.expiresAt.toISOString().endsWith('23:59:59.999Z') ? 'End of that day, UTC' : 'UTC'}: in ${countText(days, 'day')}`;
}

function ReplacedGrants({ form, set }: { form: forms.GrantForm; set: (grantIds: number[]) => void }) {
  const { principal, revokedIds } = form;
  const node = form.nodeKind === 'data' ? forms.nodeOfForm(form) : null;
  const query = { ...node, principal: principal === null ? '' : principalParameter(principal), limit: 20 };
  const { data = [] } = useQuery({
    queryKey: ['grants', 'replaced', query],
    enabled: principal !== null && node?.catalog !== undefined,
    queryFn: async () => (await bodyOf(api.GET('/api/admin/grants', { params: { query: query as never } }))).items,
  });
  const replacedGrants = data.filter(
    ({ id, privileges }) => revokedIds.includes(id) || privileges.some((each) => form.privileges.includes(each)),
  );
  const otherIds = revokedIds.filter((id) => replacedGrants.every((grant) => grant.id !== id));
  if (replacedGrants.length + otherIds.length === 0) return null;
  const checkbox = { values: revokedIds, set };
  return (
    <div className="field">
      {replacedGrants.map(({ id, privileges, resource }) => (
        <Checkbox
          key={id}
          value={id}
          {...checkbox}
          text={`Revoke grant ${id}, which this one replaces`}
          hint={`${privileges.join(', ')} on ${pathText(resource)}`}
        />
      ))}
      {otherIds.map((id) => (
        <Checkbox key={id} value={id} {...checkbox} text={`Revoke grant ${id}`} />
      ))}
    </div>
  );
}
