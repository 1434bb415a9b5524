import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { usePreview } from '../api/drafts.js';
import { queries } from '../api/session.js';
import { daysUntil } from '../domain/expiry.js';
import { now } from '../now.js';
import { pathText } from './path.js';
import { WhoLoses } from './changes.js';
import { Dialog } from './dialog.js';
import { Failure } from './failure.js';
import { Icon } from './icon.js';
import { Moment } from './moment.js';
import { toast } from './toast.js';

export type Grant = Schemas['GrantResponse'];

/** What stays as it was read, whatever is granted: who is signed in, and the policy that is being edited. */
const KEPT: readonly unknown[] = ['start', 'policy', 'rows'];

/** What changes with every grant and policy is read anew: lists, previews, answers. */
export function accessChanged(): Promise<void> {
  return queries.invalidateQueries({ predicate: ({ queryKey }) => !KEPT.includes(queryKey[0]) });
}

/** When a grant ends; amber in its last week. */
export function Until({ at }: { at: string | null }) {
  if (at === null) return <span className="hidden">no end</span>;
  if (daysUntil(new Date(at), now()) >= 7) return <Moment at={at} />;
  return (
    <span className="badge badge--warn">
      <Icon name="clock" />
      <Moment at={at} />
    </span>
  );
}

/** Begins a grant. @param query what its form holds at first */
export function NewGrant({ isPrimary = false, query = '' }: { isPrimary?: boolean; query?: string }) {
  return (
    <Link className={isPrimary ? 'button button--primary' : 'button'} href={`/grants/new${query}`}>
      <Icon name="plus" />
      New grant
    </Link>
  );
}

/** Takes a grant back, after it was shown who loses what. */
export function Revoke({ grant }: { grant: Grant }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        className="button button--small button--quiet"
        type="button"
        onClick={() => setOpen(true)}
        aria-describedby={`grant-${grant.id}`}
      >
        Revoke
      </button>
      <span className="hidden" id={`grant-${grant.id}`}>
        grant {grant.id}
      </span>
      {isOpen && <RevokeDialog grant={grant} close={() => setOpen(false)} />}
    </>
  );
}

function RevokeDialog({ grant, close }: { grant: Grant; close: () => void }) {
  const { id, privileges, resource } = grant;
  const { preview, isComputing, error, retry } = usePreview({ revoke: [id] });
  const revoking = useMutation({
    mutationFn: () => bodyOf(api.DELETE('/api/admin/grants/{id}', { params: { path: { id } } })),
    onSuccess: () => {
      close();
      toast({ text: `Grant ${id} is revoked. It ends with the next publication.` });
      return accessChanged();
    },
  });
  const failure = revoking.error ?? error;
  return (
    <Dialog title={`Revoke grant ${id}?`} close={close}>
      <p>
        {privileges.join(', ')} on {pathText(resource)}. The grant stays in the history.
      </p>
      {isComputing && preview === null && <p role="status">Computing who loses</p>}
      {preview !== null && <WhoLoses preview={preview} />}
      {failure !== null && (
        <Failure problem={failure} retry={revoking.error === null ? retry : () => revoking.mutate()} />
      )}
      <div className="actions">
        <button className="button" type="button" autoFocus onClick={close}>
          Cancel
        </button>
        <button
          className="button button--primary button--danger"
          type="button"
          aria-disabled={revoking.isPending}
          onClick={() => revoking.isPending || revoking.mutate()}
        >
          {revoking.isPending ? 'Revoking…' : 'Revoke'}
        </button>
      </div>
    </Dialog>
  );
}
