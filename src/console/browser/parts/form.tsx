import { type InputHTMLAttributes, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { Button, Icon } from './controls.js';
import { Failure } from './notice.js';

export interface FormProps {
  label?: string;
  mutation: { isPending: boolean; error: Error | null; mutate: () => void; reset: () => void };
  action: string;
  isDanger?: boolean | undefined;
  isDisabled?: boolean;
  cancelText?: string;
  close?: () => void;
  isPanel?: boolean;
  canRetry?: boolean;
  children: ReactNode;
}

/** A short form: fields, error, and two buttons. It cannot be sent twice at the same time. */
export function Form(props: FormProps) {
  const { label, action, isDanger, cancelText = 'Cancel', close, isPanel = false, canRetry = false, children } = props;
  const { isPending, error, mutate, reset } = props.mutation;
  const isDisabled = isPending || props.isDisabled === true;
  const formRef = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (error !== null) focusFirstError(formRef.current);
  }, [error]);
  const buttonLook = isDanger === true ? 'primary danger' : 'primary';
  return (
    <form
      ref={formRef}
      className={`stack stack--tight${isPanel ? ' panel' : ''}`}
      method="post"
      aria-label={label}
      onChange={() => error !== null && reset()}
      onSubmit={(event) => {
        event.preventDefault();
        if (!isDisabled) mutate();
      }}
    >
      {children}
      {error !== null && <Failure problem={error} retry={canRetry ? mutate : undefined} />}
      <div className="actions">
        {close !== undefined && <Button text={cancelText} look="quiet" onClick={close} />}
        <Button text={action} look={buttonLook} type="submit" isDisabled={isDisabled} />
      </div>
    </form>
  );
}

export interface FieldsProps<F> {
  form: F;
  change: (changes: Partial<F>) => void;
  errors: Readonly<Record<string, string>>;
}

/** Returns a function that gives the properties of a field by name: `<TextField label="Name" {...field('name')} />`. */
export function fieldsOf<F extends object>(
  form: F,
  change: (changes: Partial<F>) => void,
  errors: Readonly<Record<string, string>> = {},
) {
  return <K extends keyof F & string>(name: K) => ({
    value: form[name],
    set: (value: F[K]): void => change({ [name]: value } as unknown as Partial<F>),
    error: errors[name],
  });
}

/** The values of a form, and a function that gives the properties of a field by name. */
export function useForm<F extends object>(initialForm: F | (() => F)) {
  const [form, setForm] = useState<F>(initialForm);
  return [form, fieldsOf(form, (changes) => setForm((oldForm) => ({ ...oldForm, ...changes })))] as const;
}

/** Shows the errors of a form, and focuses the first field that has one. */
export function showErrors(form: HTMLFormElement, markSubmitted: () => void): void {
  flushSync(markSubmitted);
  focusFirstError(form);
}

function focusFirstError(form: HTMLFormElement | null): void {
  const field = form?.querySelector('.field:has(> .hint--error)');
  field?.querySelector<HTMLElement>('input:enabled, textarea:enabled, button')?.focus();
}

type InputProps = Pick<
  InputHTMLAttributes<HTMLInputElement>,
  'type' | 'name' | 'placeholder' | 'maxLength' | 'min' | 'max' | 'required' | 'readOnly' | 'autoFocus'
>;

interface TextFieldProps extends InputProps {
  label: string;
  value: string;
  set: (value: string) => void;
  hint?: ReactNode;
  error?: string | undefined;
  rows?: number;
  isMono?: boolean;
  isDisabled?: boolean;
  autoComplete?: 'username' | 'current-password' | 'new-password' | 'off';
}

/** A text field, with its error or hint below. */
export function TextField(props: TextFieldProps) {
  const { label, value, set, hint, error, rows = 1, isMono, isDisabled, autoComplete = 'off', ...inputProps } = props;
  const id = useId();
  const field = {
    className: isMono === true ? 'input input--mono' : 'input',
    id,
    value,
    autoComplete,
    spellCheck: isMono !== true && autoComplete === 'off',
    disabled: isDisabled,
    'aria-invalid': error !== undefined || undefined,
    'aria-describedby': error !== undefined || hint !== undefined ? `${id}-hint` : undefined,
    onChange: (event: { target: { value: string } }) => set(event.target.value),
  };
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      {rows > 1 ? (
        <textarea {...field} rows={rows} />
      ) : (
        <input type="text" autoCapitalize={field.spellCheck ? undefined : 'none'} {...inputProps} {...field} />
      )}
      <FieldHint id={`${id}-hint`} hint={hint} error={error} />
    </div>
  );
}

/** A required field for an existing password. */
export function PasswordField(props: Omit<TextFieldProps, 'type' | 'required'>) {
  return <TextField type="password" autoComplete="current-password" required {...props} />;
}

export function NewPasswordField(props: Pick<TextFieldProps, 'value' | 'set'>) {
  const hint = '8 to 128 characters, not the current one.';
  return <PasswordField label="New password" autoComplete="new-password" hint={hint} {...props} />;
}

/** The error of a field, or else its hint, shown below it. */
export function FieldHint({ id, hint, error }: { id: string; hint?: ReactNode; error: string | undefined }) {
  if (error !== undefined) {
    return (
      <p className="hint hint--error" id={id}>
        <Icon name="warn" />
        {error}
      </p>
    );
  }
  return hint === undefined ? null : (
    <p className="hint" id={id}>
      {hint}
    </p>
  );
}

/** A hidden user name, which password managers and browsers expect beside a password. */
export function HiddenUsername({ username }: { username: string }) {
  return (
    <input
      className="hidden"
      type="text"
      name="username"
      autoComplete="username"
      value={username}
      readOnly
      tabIndex={-1}
      aria-hidden="true"
    />
  );
}

interface SegmentsProps<T extends string> {
  legend: string;
  choices: readonly (readonly [value: T, text: string])[];
  value: T;
  set: (value: T) => void;
}

/** Radio buttons in one row, for a choice between a few values. */
export function Segments<T extends string>({ legend, choices, value, set }: SegmentsProps<T>) {
  const name = useId();
  return (
    <fieldset className="field">
      <legend>{legend}</legend>
      <div className="row">
        <div className="segments">
          {choices.map(([each, text]) => (
            <label key={each}>
              <input type="radio" name={name} checked={each === value} onChange={() => set(each)} />
              {text}
            </label>
          ))}
        </div>
      </div>
    </fieldset>
  );
}

interface CheckboxProps<T> {
  value: T;
  values: readonly T[];
  set: (checkedValues: T[]) => void;
  isDisabled?: boolean;
  hint?: string;
  text?: string;
}

/** A checkbox that adds its value to a list of checked values, or removes it. */
export function Checkbox<T extends string | number>(props: CheckboxProps<T>) {
  const { value, values, set, isDisabled = false, hint, text } = props;
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={values.includes(value) && !isDisabled}
        disabled={isDisabled}
        onChange={({ target }) => set(target.checked ? [...values, value] : values.filter((each) => each !== value))}
      />{' '}
      <span className={text === undefined ? 'mono' : undefined}>{text ?? value}</span>
      {hint !== undefined && <span className="hint">{hint}</span>}
    </label>
  );
}
