import type { ReactNode } from 'react';
import { Dialog } from './dialog.js';
import { type Asks, ProofForm } from './proof-form.js';

interface ActDialogProps<T> {
  /** *Approve this change?* */
  title: string;
  /** The button: verb and object. */
  act: string;
  isDanger?: boolean | undefined;
  asks?: Asks;
  run: (password: string) => Promise<T>;
  close: () => void;
  done?: (result: T) => void;
  /** What follows from it, in numbers; or as that of a ProofForm. */
  children: ReactNode | ((isHere: boolean) => ReactNode);
}

/** Asks before what cannot be undone, and for a proof of who acts where the act needs one. */
export function ActDialog<T>(props: ActDialogProps<T>) {
  const { title, act, isDanger = false, asks, run, close, done, children } = props;
  return (
    <Dialog title={title} close={close}>
      <ProofForm
        act={act}
        isDanger={isDanger}
        asks={asks}
        run={run}
        close={close}
        done={(result) => {
          close();
          done?.(result);
        }}
      >
        {(isHere) => <div className="dim">{typeof children === 'function' ? children(isHere) : children}</div>}
      </ProofForm>
    </Dialog>
  );
}
