import type { ReactNode } from 'react';
import { Failure } from './failure.js';
import { Icon } from './icon.js';

export interface FormProps {
  label?: string;
  /** What the button does, as a mutation. */
  doing: { isPending: boolean; error: Error | null; mutate: () => void };
  /** The button: verb and object. */
  act: string;
  isDanger?: boolean;
  /** The button beside it. */
  away?: string;
  close: () => void;
  /** Stands in the page, and not in a dialog. */
  isPanel?: boolean;
  children: ReactNode;
}

/** A short form: its fields, why it was refused, and its two buttons. Nothing is sent twice. */
export function Form(props: FormProps) {
  const { label, doing, act, isDanger = false, away = 'Cancel', close, isPanel = false, children } = props;
  const { isPending, error, mutate } = doing;
  return (
    <form
      className={`stack stack--tight${isPanel ? ' panel' : ''}`}
      method="post"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        if (!isPending) mutate();
      }}
    >
      {children}
      {error !== null && <Failure problem={error} />}
      <div className="actions">
        <button className="button button--quiet" type="button" onClick={close}>
          {away}
        </button>
        <button
          className={`button button--primary${isDanger ? ' button--danger' : ''}`}
          type="submit"
          aria-disabled={isPending}
        >
          {act}
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
