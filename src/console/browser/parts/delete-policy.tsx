import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { api, bodyOf } from '../api/client.js';
import { usePreview } from '../api/drafts.js';
import type { Policy } from '../domain/policy-form.js';
import { WhoGains } from './changes.js';
import { Dialog } from './dialog.js';
import { Failure } from './failure.js';
import { accessChanged } from './grants.js';
import { toast } from './toast.js';

interface DeletePolicyProps {
  policy: { body: Policy; version: string };
}

/** Deletes a policy, after it was shown who gains what. */
export function DeletePolicy({ policy }: DeletePolicyProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button className="button button--danger button--quiet" type="button" onClick={() => setOpen(true)}>
        Delete…
      </button>
      {isOpen && <DeleteDialog policy={policy} close={() => setOpen(false)} />}
    </>
  );
}

function DeleteDialog({ policy: { body, version }, close }: DeletePolicyProps & { close: () => void }) {
  const { id } = body;
  const [, go] = useLocation();
  const { preview, error, retry } = usePreview({ policies: { delete: [id] } });
  const deleting = useMutation({
    mutationFn: () =>
      bodyOf(api.DELETE('/api/admin/policies/{id}', { params: { path: { id }, header: { 'If-Match': version } } })),
    onSuccess: () => {
      go('/policies');
      toast({ text: `Policy ${id} is deleted. It ends with the next publication.` });
      return accessChanged();
    },
  });
  const failure = deleting.error ?? error;
  return (
    <Dialog title={`Delete policy ${id}?`} close={close}>
      {preview === null && failure === null && <p role="status">Computing who gains</p>}
      {preview !== null && <WhoGains preview={preview} />}
      {failure !== null && (
        <Failure problem={failure} retry={deleting.error === null ? retry : () => deleting.mutate()} />
      )}
      <div className="actions">
        <button className="button" type="button" autoFocus onClick={close}>
          Cancel
        </button>
        <button
          className="button button--primary button--danger"
          type="button"
          aria-disabled={deleting.isPending}
          onClick={() => deleting.isPending || deleting.mutate()}
        >
          {deleting.isPending ? 'Deleting…' : 'Delete'}
        </button>
      </div>
    </Dialog>
  );
}
