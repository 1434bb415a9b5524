import { type ReactNode, useEffect, useRef } from 'react';

/** A dialog named after its act. Esc closes it where it can be closed. */
export function Dialog({ title, close, children }: { title: string; close?: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    // By itself it would take the name that only password managers need.
    const field = dialog.current?.querySelector<HTMLElement>('input:not([readonly]), textarea');
    (field ?? dialog.current?.querySelector('button'))?.focus();
  }, []);
  return (
    <dialog
      className="dialog"
      ref={dialog}
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault();
        close?.();
      }}
    >
      <div className="stack stack--mid">
        <h2 id="dialog-title">{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
