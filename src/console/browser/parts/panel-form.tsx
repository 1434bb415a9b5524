import type { ReactNode } from 'react';
import { Failure } from './failure.js';
import { Icon } from './icon.js';

interface PanelFormProps {
  label: string;
  /** What *Save* does, as a mutation. */
  saving: { isPending: boolean; error: Error | null; mutate: () => void };
  close: () => void;
  children: ReactNode;
}

/** A short form above a list: its fields, why it was refused, *Cancel* and *Save*. */
export function PanelForm({ label, saving, close, children }: PanelFormProps) {
  return (
    <form
      className="panel stack stack--tight"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        if (!saving.isPending) saving.mutate();
      }}
    >
      {children}
      {saving.error !== null && <Failure problem={saving.error} />}
      <div className="actions">
        <button className="button button--quiet" type="button" onClick={close}>
          Cancel
        </button>
        <button className="button button--primary" type="submit" aria-disabled={saving.isPending}>
          Save
        </button>
      </div>
    </form>
  );
}

/** Opens such a form: the one primary button of its page. */
export function AddButton({ text, isOpen, open }: { text: string; isOpen: boolean; open: () => void }) {
  return (
    <button className="button button--primary" type="button" aria-expanded={isOpen} onClick={open}>
      <Icon name="plus" />
      {text}
    </button>
  );
}
