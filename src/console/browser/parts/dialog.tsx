import { type ReactNode, useEffect, useId, useRef } from 'react';

/** A dialog named after its act. Esc closes it where it can be closed; the focus goes back to what opened it. */
export function Dialog({ title, close, children }: { title: string; close?: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    // By itself it would take the name that only password managers need.
    const field = dialog.current?.querySelector<HTMLElement>('input:not([readonly]), textarea');
    (field ?? dialog.current?.querySelector('button'))?.focus();
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog
      className="dialog"
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        close?.();
      }}
      // A browser closes it at the second Esc, whatever was said to the first.
      onClose={() => (close === undefined ? dialog.current?.showModal() : close())}
    >
      <div className="stack stack--mid">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
