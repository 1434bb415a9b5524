interface PasswordFieldProps {
  id: string;
  label: string;
  complete: 'current-password' | 'new-password';
  value: string;
  set: (value: string) => void;
}

export function PasswordField({ id, label, complete, value, set }: PasswordFieldProps) {
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      <input
        className="input"
        id={id}
        type="password"
        autoComplete={complete}
        value={value}
        onChange={(event) => set(event.target.value)}
        required
      />
    </div>
  );
}

/** Password managers and browsers ask for a name beside a password. */
export function HiddenUsername({ username }: { username: string | undefined }) {
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
