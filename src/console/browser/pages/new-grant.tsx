import { useMutation, useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { useLocation } from 'wouter';
import { api, bodyOf, fieldErrorsOf } from '../api/client.js';
import { usePreview } from '../api/drafts.js';
import { refreshAccess } from '../api/entries.js';
import { countText, peopleText } from '../domain/count-text.js';
import {
  addressOfForm,
  formOfAddress,
  type GrantForm,
  grantOfForm,
  nodeOfForm,
  offeredNode,
} from '../domain/grant-form.js';
import { daysUntil, type Expiry, parseExpiry } from '../domain/moment-text.js';
import { addressOfNode, pathText } from '../domain/node-path.js';
import { principalParameter } from '../domain/principal.js';
import { now } from '../now.js';
import { useFormInAddress } from '../parts/address.js';
import { Changes, DraftChange, Totals } from '../parts/changes.js';
import { Button, ButtonLink } from '../parts/controls.js';
import { Check, fieldsOf, TextField } from '../parts/form.js';
import { Failure, showToast } from '../parts/notice.js';
import { PageHead } from '../parts/page.js';
import { PlaceFields, PrivilegeChecks } from '../parts/place-fields.js';
import { PrincipalCombobox } from '../parts/principal-combobox.js';

/** The form of a grant, beside its preview. */
export function GrantDraft() {
  const [form, setForm] = useFormInAddress(formOfAddress, addressOfForm);
  const [, go] = useLocation();
  const [isTried, setTried] = useState(false);
  const expiry = parseExpiry(form.expires, now());
  const grant = 'problem' in expiry ? null : grantOfForm(form, expiry.at);
  const draft = grant && { grant: [grant], revoke: form.revoke };
  const granting = useMutation({
    mutationFn: () => bodyOf(api.POST('/api/admin/grants/batch', { body: draft ?? {} })),
    onSuccess: ({ granted }) => {
      const names = grant?.privileges.join(', ') ?? '';
      const node = grant?.resource ?? {};
      showToast({
        text: `Granted ${names} on ${pathText(node)}. It is live with the next publication.`,
        link: { href: addressOfNode(node), text: 'See who' },
        warnings: granted.flatMap(({ warnings = [] }) => warnings),
      });
      return refreshAccess(() => go('/grants'));
    },
  });
  const change = (part: Partial<GrantForm>): void => {
    setForm((before) => ({ ...before, ...part }));
    if (granting.isError) granting.reset();
  };
  const { preview, isComputing, error, retry, more } = usePreview(draft, granting.isPending);
  const errors = { ...(isTried && missingIn(form)), ...fieldErrorsOf(granting.error ?? error) };
  const field = fieldsOf(form, change, errors);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setTried(true);
    if (grant !== null && !isComputing && !granting.isPending) granting.mutate();
    else event.currentTarget.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  };
  const gaining = preview?.people_gaining ?? 0;
  return (
    <main id="main" className="split split--draft" tabIndex={-1}>
      <form className="stack" aria-label="New grant" onSubmit={submit} noValidate>
        <PageHead title="New grant" intro="Nothing is written until you grant it." />
        <PrincipalCombobox {...field('principal')} />
        <PlaceFields form={form} change={change} error={errors['resource']} />
        <PrivilegeChecks node={offeredNode(form)} holder={form.principal} {...field('privileges')} />
        <Replaced form={form} set={field('revoke').set} />
        <TextField
          label="Expires"
          {...field('expires')}
          hint={expiryHint(expiry)}
          error={'problem' in expiry ? expiry.problem : errors['expires_at']}
          placeholder="never"
        />
        <TextField label="Description" {...field('description')} rows={2} />
        {granting.isError && <Failure problem={granting.error} retry={() => granting.mutate()} />}
        <div className="actions actions--sticky">
          <Button
            text={granting.isPending ? 'Granting…' : gaining === 0 ? 'Grant' : `Grant to ${peopleText(gaining)}`}
            look="primary"
            type="submit"
            isOff={grant === null || isComputing || granting.isPending}
          />
          <ButtonLink text="Cancel" look="quiet" href="/grants" />
          <DraftChange of={preview} />
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
          <Totals preview={preview} isComputing={isComputing} />
        )}
        {error !== null && !granting.isError && <Failure problem={error} retry={retry} />}
        {preview !== null && <Changes preview={preview} more={more} />}
      </div>
    </main>
  );
}

function expiryHint(expiry: Expiry): string {
  if (!('at' in expiry) || expiry.at === null)
    return 'Empty: until it is revoked. A day, such as 2027-03-31, is meant to its end in UTC.';
  const days = daysUntil(expiry.at, now());
  return `${expiry.at.toISOString().endsWith('23:59:59.999Z') ? 'End of that day, UTC' : 'UTC'}: in ${countText(days, 'day')}`;
}

/** What a form lacks, by field. */
function missingIn({ principal, privileges }: GrantForm): Record<string, string> {
  return {
    ...(principal === null && { principal: 'Choose who gets it.' }),
    ...(privileges.length === 0 && { privileges: 'Choose at least one.' }),
  };
}

/** Grants of the same holder on the node or below it, which the new one may replace. */
function Replaced({ form, set }: { form: GrantForm; set: (revoke: number[]) => void }) {
  const { principal, revoke } = form;
  const node = form.place === 'data' ? nodeOfForm(form) : null;
  const query = { ...node, principal: principal === null ? '' : principalParameter(principal), limit: 20 };
  const { data = [] } = useQuery({
    queryKey: ['grants', 'replaced', query],
    enabled: principal !== null && node?.catalog !== undefined,
    queryFn: async () => (await bodyOf(api.GET('/api/admin/grants', { params: { query: query as never } }))).items,
  });
  const shown = data.filter(
    ({ id, privileges }) => revoke.includes(id) || privileges.some((each) => form.privileges.includes(each)),
  );
  if (principal === null || shown.length === 0) return null;
  return (
    <div className="field">
      {shown.map(({ id, privileges, resource }) => (
        <Check
          key={id}
          value={id}
          all={revoke}
          set={set}
          text={`Revoke grant ${id}, which this one replaces`}
          hint={`${privileges.join(', ')} on ${pathText(resource)}`}
        />
      ))}
    </div>
  );
}
