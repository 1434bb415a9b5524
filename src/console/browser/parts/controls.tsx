import { type ComponentProps, type ReactNode, useState } from 'react';
import { Link } from 'wouter';

/** An icon of the sprite in index.html; always beside a word. */
export function Icon({ name }: { name: string }) {
  return (
    <svg className="icon" aria-hidden="true">
      <use href={`#i-${name}`} />
    </svg>
  );
}

export function Brand() {
  return (
    <>
      <svg viewBox="0 0 22 22" aria-hidden="true">
        <path d="M4 17V9a4 4 0 0 1 4-4h6" />
        <circle cx="4" cy="18" r="2.5" className="on" />
        <circle cx="17" cy="5" r="2.75" />
      </svg>
      Grantline
    </>
  );
}

interface Face {
  /** Variants of the class `button`: *small quiet*. */
  look?: string | undefined;
  icon?: string | undefined;
  text?: ReactNode;
}

interface ButtonProps extends Face, Omit<ComponentProps<'button'>, 'className'> {
  /** It does nothing when pressed, but stays focusable. */
  isOff?: boolean;
}

export function Button({ look, icon, text, isOff, onClick, children, ...rest }: ButtonProps) {
  return (
    <button
      className={classOf(look)}
      type="button"
      aria-disabled={isOff}
      onClick={isOff === true ? undefined : onClick}
      {...rest}
    >
      {icon !== undefined && <Icon name={icon} />}
      {text}
      {children}
    </button>
  );
}

/** A link that looks like a button. */
export function ButtonLink({ look, icon, text, href }: Face & { href: string }) {
  return (
    <Link className={classOf(look)} href={href}>
      {icon !== undefined && <Icon name={icon} />}
      {text}
    </Link>
  );
}

function classOf(look = ''): string {
  const variants = look.split(' ').filter(Boolean);
  return ['button', ...variants.map((variant) => `button--${variant}`)].join(' ');
}

/** Copies a text, and says so. */
export function CopyButton({ value, text = 'Copy', look = 'small' }: { value: string; text?: string; look?: string }) {
  const [copied, setCopied] = useState<string | null>(null);
  // Browsers refuse the clipboard to pages that came over plain HTTP.
  if (!isSecureContext) return null;
  const copy = () => navigator.clipboard.writeText(value).then(() => setCopied(value));
  return <Button text={copied === value ? 'Copied' : text} look={look} icon="copy" onClick={() => void copy()} />;
}

/** A state in a word. */
export function Badge({ tone, icon, text }: { tone?: 'gain' | 'loss' | 'warn'; icon?: string; text: ReactNode }) {
  return (
    <span className={tone === undefined ? 'badge' : `badge badge--${tone}`}>
      {icon !== undefined && <Icon name={icon} />}
      {text}
    </span>
  );
}
