import { lazy, Suspense, useState } from 'react';
import { api, bodyOf } from '../api/client.js';
import { accessChanged, type Grant } from '../api/entries.js';
import { pathText } from '../domain/node-path.js';
import { toast } from './toast.js';

// Every table of grants has the button, and few press it.
const PreviewDialog = lazy(() =>
  import('./preview-dialog.js').then(({ PreviewDialog: dialog }) => ({ default: dialog })),
);

/** Takes a grant back, after it was shown who loses what. */
export function Revoke({ grant: { id, privileges, resource } }: { grant: Grant }) {
  const [isOpen, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <>
      <button
        className="button button--small button--quiet"
        type="button"
        onClick={() => setOpen(true)}
        aria-describedby={`grant-${id}`}
      >
        Revoke
      </button>
      <span className="hidden" id={`grant-${id}`}>
        grant {id}
      </span>
      {isOpen && (
        <Suspense>
          <PreviewDialog
            title={`Revoke grant ${id}?`}
            act={['Revoke', 'Revoking…']}
            draft={{ revoke: [id] }}
            side="loses"
            run={() => bodyOf(api.DELETE('/api/admin/grants/{id}', { params: { path: { id } } }))}
            done={() => {
              toast({ text: `Grant ${id} is revoked. It ends with the next publication.` });
              return accessChanged(close);
            }}
            close={close}
          >
            <p>
              {privileges.join(', ')} on {pathText(resource)}. The grant stays in the history.
            </p>
          </PreviewDialog>
        </Suspense>
      )}
    </>
  );
}
