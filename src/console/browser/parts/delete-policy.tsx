import { useState } from 'react';
import { useLocation } from 'wouter';
import { api, bodyOf } from '../api/client.js';
import { accessChanged, type Policy } from '../api/entries.js';
import { PreviewDialog } from './preview-dialog.js';
import { toast } from './toast.js';

/** Deletes a policy, after it was shown who gains what. */
export function DeletePolicy({ policy: { body, version } }: { policy: { body: Policy; version: string } }) {
  const [isOpen, setOpen] = useState(false);
  const [, go] = useLocation();
  const { id } = body;
  const params = { path: { id }, header: { 'If-Match': version } };
  return (
    <>
      <button className="button button--danger button--quiet" type="button" onClick={() => setOpen(true)}>
        Delete…
      </button>
      {isOpen && (
        <PreviewDialog
          title={`Delete policy ${id}?`}
          act={['Delete', 'Deleting…']}
          draft={{ policies: { delete: [id] } }}
          side="gains"
          run={() => bodyOf(api.DELETE('/api/admin/policies/{id}', { params }))}
          done={() => {
            toast({ text: `Policy ${id} is deleted. It ends with the next publication.` });
            return accessChanged(() => go('/policies'));
          }}
          close={() => setOpen(false)}
        />
      )}
    </>
  );
}
