import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Draft, usePreview } from '../api/drafts.js';
import { WhoGains, WhoLoses } from './changes.js';
import { Dialog } from './dialog.js';
import { Failure } from './failure.js';

interface PreviewDialogProps {
  /** *Revoke grant 12?* */
  title: string;
  /** The button, and the button at work: *Revoke*, *Revoking…* */
  act: readonly [string, string];
  /** The same as a draft, whose consequences are shown. */
  draft: Draft;
  /** Which of them there can be. */
  side: 'gains' | 'loses';
  run: () => Promise<unknown>;
  done: () => unknown;
  close: () => void;
  children?: ReactNode;
}

/** Asks before access is taken away or given by one button, and shows whose it is. */
export function PreviewDialog({ title, act, draft, side, run, done, close, children }: PreviewDialogProps) {
  const acting = useMutation({ mutationFn: run, onSuccess: done });
  const { preview, error, retry } = usePreview(draft, acting.isPending);
  const failure = acting.error ?? error;
  const [text, textAtWork] = act;
  const Side = side === 'gains' ? WhoGains : WhoLoses;
  return (
    <Dialog title={title} close={close}>
      {children}
      {preview === null && failure === null && <p role="status">Computing who {side}</p>}
      {preview !== null && <Side preview={preview} />}
      {failure !== null && <Failure problem={failure} retry={acting.error === null ? retry : () => acting.mutate()} />}
      <div className="actions">
        <button className="button" type="button" autoFocus onClick={close}>
          Cancel
        </button>
        <button
          className="button button--primary button--danger"
          type="button"
          aria-disabled={acting.isPending}
          onClick={() => acting.isPending || acting.mutate()}
        >
          {acting.isPending ? textAtWork : text}
        </button>
      </div>
    </Dialog>
  );
}
