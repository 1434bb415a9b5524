import { useMutation, useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useEffect, useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { api, bodyOf, Problem } from '../api/client.js';
import { usePreview } from '../api/drafts.js';
import { accessChanged } from '../api/entries.js';
import { countText, peopleText } from '../domain/count-text.js';
import { daysUntil, type Expiry, parseExpiry } from '../domain/moment-text.js';
import { addressOfForm, formOfAddress, type GrantForm, grantOfForm } from '../domain/grant-form.js';
import { addressOfNode, pathText } from '../domain/node-path.js';
import { nodeOfForm, offeredAt } from '../domain/place-form.js';
import { principalParameter } from '../domain/principal.js';
import { now } from '../now.js';
import { DraftChange } from '../parts/change.js';
import { Changes, Totals } from '../parts/changes.js';
import { Failure } from '../parts/failure.js';
import { PageHead } from '../parts/page.js';
import { PlaceFields } from '../parts/place-fields.js';
import { PrincipalCombobox } from '../parts/principal-combobox.js';
import { PrivilegeChecks } from '../parts/privileges.js';
import { TextField } from '../parts/text-field.js';
import { toast } from '../parts/toast.js';

/** A grant, beside what it would change. */
export function GrantDraft() {
  const [form, setForm] = useFormInAddress();
  const [, go] = useLocation();
  const [isTried, setTried] = useState(false);
  const change = (part: Partial<GrantForm>): void => setForm((before) => ({ ...before, ...part }));
  const expiry = parseExpiry(form.expires, now());
  const grant = 'problem' in expiry ? null : grantOfForm(form, expiry.at);
  const draft = grant && { grant: [grant], revoke: form.revoke };
  const granting = useMutation({
    mutationFn: () => bodyOf(api.POST('/api/admin/grants/batch', { body: draft ?? {} })),
    onSuccess: ({ granted }) => {
      const names = grant?.privileges.join(', ') ?? '';
      const node = grant?.resource ?? {};
      toast({
        text: `Granted ${names} on ${pathText(node)}. It is live with the next publication.`,
        link: { href: addressOfNode(node), text: 'See who' },
        warnings: granted.flatMap(({ warnings = [] }) => warnings),
      });
      return accessChanged(() => go('/grants'));
    },
  });
  const { preview, isComputing, error, retry, more } = usePreview(draft, granting.isPending);
  const refused = granting.error ?? error;
  const fields = fieldErrors(refused, isTried, form);
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
        <PageHead title="New grant">Nothing is written until you grant it.</PageHead>
        <PrincipalCombobox
          value={form.principal}
          set={(principal) => change({ principal })}
          error={fields['principal'] ?? null}
        />
        <PlaceFields form={form} change={change} error={fields['resource'] ?? null} />
        <PrivilegeChecks
          node={offeredAt(form)}
          holder={form.principal}
          value={form.privileges}
          set={(privileges) => change({ privileges })}
          error={fields['privileges'] ?? null}
        />
        <Replaced form={form} set={(revoke) => change({ revoke })} />
        <TextField
          label="Expires"
          value={form.expires}
          set={(expires) => change({ expires })}
          hint={expiryHint(expiry)}
          error={'problem' in expiry ? expiry.problem : (fields['expires_at'] ?? null)}
          placeholder="never"
        />
        <TextField
          label="Description"
          value={form.description}
          set={(description) => change({ description })}
          rows={2}
        />
        {granting.isError && <Failure problem={granting.error} retry={() => granting.mutate()} />}
        <div className="actions actions--sticky">
          <button
            className="button button--primary"
            type="submit"
            aria-disabled={grant === null || isComputing || granting.isPending}
          >
            {granting.isPending ? 'Granting…' : gaining === 0 ? 'Grant' : `Grant to ${peopleText(gaining)}`}
          </button>
          <Link className="button button--quiet" href="/grants">
            Cancel
          </Link>
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

/** What the service said about each field, and, once it was tried to grant, what is missing. */
function fieldErrors(refused: Error | null, isTried: boolean, form: GrantForm): Record<string, string> {
  const missing = {
    ...(form.principal === null && { principal: 'Choose who gets it.' }),
    ...(grantOfForm({ ...form, principal: { type: 'everyone' } }, null) === null &&
      form.privileges.length === 0 && { privileges: 'Choose at least one.' }),
  };
  const said = refused instanceof Problem ? refused.fields : [];
  return {
    ...(isTried && missing),
    ...Object.fromEntries(said.map(({ field, message }) => [field.split('.')[2] ?? field, `${message}.`])),
  };
}

/** The form, begun by the address and held in it. */
function useFormInAddress() {
  const [address, setAddress] = useSearchParams();
  const [form, setForm] = useState(() => formOfAddress(address));
  // Browsers refuse to change the address with every key.
  const text = addressOfForm(form).toString();
  // The form is what counts: the address follows. By the timer itself: an effect of a later render may run once the page was left.
  useEffect(() => {
    const timer = setTimeout(() => text !== address.toString() && setAddress(text, { replace: true }), 400);
    return () => clearTimeout(timer);
  }, [text]);
  return [form, setForm] as const;
}

/** Grants of the same holder on the node or below it, which the new one may take the place of. */
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
        <label key={id} className="check">
          <input
            type="checkbox"
            checked={revoke.includes(id)}
            onChange={({ target }) => set(target.checked ? [...revoke, id] : revoke.filter((each) => each !== id))}
          />{' '}
          <span>Revoke grant {id}, which this one replaces</span>
          <span className="hint">
            {privileges.join(', ')} on {pathText(resource)}
          </span>
        </label>
      ))}
    </div>
  );
}
