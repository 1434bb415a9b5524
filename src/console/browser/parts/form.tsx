import { type InputHTMLAttributes, type ReactNode, useId, useState } from 'react';
import { Button, Icon } from './controls.js';
import { Failure } from './notice.js';

export interface FormProps {
  label?: string;
  /** What the button does, as a mutation. */
  doing: { isPending: boolean; error: Error | null; mutate: () => void; reset: () => void };
  /** The button: verb and object. */
  act: string;
  isDanger?: boolean | undefined;
  /** There is nothing to do, because nothing is changed. */
  isOff?: boolean;
  /** Text of the button that closes the form. */
  away?: string;
  close: () => void;
  /** Shown in the page, not in a dialog. */
  isPanel?: boolean;
  /** Shows a button to retry after a failure. */
  canRetry?: boolean;
  children: ReactNode;
}

/** A short form: its fields, the error, and two buttons. It cannot be sent again while it is being sent. */
export function Form(props: FormProps) {
  const { label, doing, act, isDanger, away = 'Cancel', close, isPanel = false, canRetry = false, children } = props;
  const { isPending, error, mutate, reset } = doing;
  const isOff = isPending || props.isOff === true;
  return (
    <form
      className={`stack stack--tight${isPanel ? ' panel' : ''}`}
      method="post"
      aria-label={label}
      onChange={() => error !== null && reset()}
      onSubmit={(event) => {
        event.preventDefault();
        if (!isOff) mutate();
      }}
    >
      {children}
      {error !== null && <Failure problem={error} retry={canRetry ? mutate : undefined} />}
      <div className="actions">
        <Button text={away} look="quiet" onClick={close} />
        <Button text={act} look={isDanger === true ? 'primary danger' : 'primary'} type="submit" isOff={isOff} />
      </div>
    </form>
  );
}

/** The properties of the fields of a form: `<TextField label="Name" {...field('name')} />`. */
export function fieldsOf<F extends object>(
  form: F,
  change: (part: Partial<F>) => void,
  errors: Readonly<Record<string, string>> = {},
) {
  return <K extends keyof F & string>(name: K) => ({
    value: form[name],
    set: (value: F[K]): void => change({ [name]: value } as unknown as Partial<F>),
    error: errors[name],
  });
}

/** The values of a form, and the properties of its fields. */
export function useForm<F extends object>(initial: F | (() => F)) {
  const [form, setForm] = useState<F>(initial);
  return [form, fieldsOf(form, (part) => setForm((before) => ({ ...before, ...part })))] as const;
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
  /** Above one: a text area of so many lines. */
  rows?: number;
  isMono?: boolean;
  isDisabled?: boolean;
  /** The `autocomplete` attribute. */
  complete?: 'username' | 'current-password' | 'new-password' | 'off';
}

/** A field for text, with what is wrong with it below. */
export function TextField(props: TextFieldProps) {
  const { label, value, set, hint, error, rows = 1, isMono, isDisabled, complete = 'off', ...ofInput } = props;
  const id = useId();
  const field = {
    className: isMono === true ? 'input input--mono' : 'input',
    id,
    value,
    autoComplete: complete,
    spellCheck: isMono !== true && complete === 'off',
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
        <input type="text" autoCapitalize={field.spellCheck ? undefined : 'none'} {...ofInput} {...field} />
      )}
      <FieldHint id={`${id}-hint`} hint={hint} error={error} />
    </div>
  );
}

/** A password that must be given. */
export function PasswordField(props: Pick<TextFieldProps, 'label' | 'name' | 'value' | 'set' | 'hint' | 'complete'>) {
  return <TextField type="password" complete="current-password" required {...props} />;
}

/** A password that is being chosen. */
export function NewPasswordField(props: Pick<TextFieldProps, 'value' | 'set'>) {
  const hint = '8 to 128 characters, not the current one.';
  return <PasswordField label="New password" complete="new-password" hint={hint} {...props} />;
}

/** The error of a field, or else its hint, shown below it. */
export function FieldHint({ id, hint, error }: { id?: string; hint?: ReactNode; error: string | undefined }) {
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

/** Password managers and browsers ask for a name beside a password. */
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

/** A choice of one value out of a few, all visible. */
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

interface CheckProps<T> {
  value: T;
  /** The values that are checked. */
  all: readonly T[];
  set: (all: T[]) => void;
  isDisabled?: boolean;
  hint?: string;
  /** Instead of the value. */
  text?: string;
}

/** A checkbox, which adds a value to others or takes it from them. */
export function Check<T extends string | number>({ value, all, set, isDisabled = false, hint, text }: CheckProps<T>) {
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={all.includes(value) && !isDisabled}
        disabled={isDisabled}
        onChange={({ target }) => set(target.checked ? [...all, value] : all.filter((each) => each !== value))}
      />{' '}
      <span className={text === undefined ? 'mono' : undefined}>{text ?? value}</span>
      {hint !== undefined && <span className="hint">{hint}</span>}
    </label>
  );
}
