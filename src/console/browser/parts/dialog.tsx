import { type ReactNode, useEffect, useId, useRef } from 'react';

/** A dialog. Esc closes it, unless `close` is absent. Closing returns the focus to the element that opened the dialog. */
export function Dialog({ title, close, children }: { title: string; close?: () => void; children: ReactNode }) {
  const dialogRef = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialogRef.current?.showModal();
    // The browser itself would focus the hidden user name, which is there for password managers.
    const field = dialogRef.current?.querySelector<HTMLElement>('input:not([readonly]), textarea');
    (field ?? dialogRef.current?.querySelector('button'))?.focus();
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog
      className="dialog"
      ref={dialogRef}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        close?.();
      }}
      // Without `close` the dialog is opened again: browsers close it at the second Esc, even if the first was prevented.
      onClose={() => (close === undefined ? dialogRef.current?.showModal() : close())}
    >
      <div className="stack stack--mid">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
