import { type InputHTMLAttributes, type ReactNode, useId } from 'react';
import { Icon } from './icon.js';

type OfInput = Pick<
  InputHTMLAttributes<HTMLInputElement>,
  'type' | 'placeholder' | 'maxLength' | 'min' | 'max' | 'required' | 'autoFocus' | 'autoCapitalize'
>;

interface TextFieldProps extends OfInput {
  label: string;
  value: string;
  set: (value: string) => void;
  hint?: ReactNode;
  error?: string | null;
  /** Above one: a text area of so many. */
  rows?: number;
  isMono?: boolean;
  isDisabled?: boolean;
}

/** A field for text, with what is wrong with it below. */
export function TextField(props: TextFieldProps) {
  const { label, value, set, hint, error = null, rows = 1, isMono, isDisabled, type = 'text', ...ofInput } = props;
  const id = useId();
  const field = {
    className: isMono === true ? 'input input--mono' : 'input',
    id,
    value,
    autoComplete: 'off',
    spellCheck: isMono !== true,
    disabled: isDisabled,
    'aria-invalid': error !== null || undefined,
    'aria-describedby': error !== null || hint !== undefined ? `${id}-hint` : undefined,
    onChange: (event: { target: { value: string } }) => set(event.target.value),
  };
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      {rows > 1 ? <textarea {...field} rows={rows} /> : <input {...ofInput} {...field} type={type} />}
      <FieldHint id={`${id}-hint`} hint={hint} error={error} />
    </div>
  );
}

/** Below a field: what is wrong with it, or else what helps. */
export function FieldHint({ id, hint, error }: { id: string; hint: ReactNode; error: string | null }) {
  if (error === null) {
    return hint === undefined ? null : (
      <p className="hint" id={id}>
        {hint}
      </p>
    );
  }
  return (
    <p className="hint hint--error" id={id}>
      <Icon name="warn" />
      {error}
    </p>
  );
}
