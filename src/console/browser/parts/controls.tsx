import { type ComponentProps, type ReactNode, useState } from 'react';
import { Link } from 'wouter';

/** An icon of the sprite in index.html. Hidden from screen readers, because a word always stands beside it. */
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

interface ButtonContent {
  /** Variants of the class `button`: *small quiet*. */
  look?: string | undefined;
  icon?: string | undefined;
  text?: ReactNode;
}

interface ButtonProps extends ButtonContent, Omit<ComponentProps<'button'>, 'className'> {
  /** Whether the button does nothing when pressed. It stays focusable. */
  isDisabled?: boolean;
}

export function Button({ look, icon, text, isDisabled, onClick, children, ...buttonProps }: ButtonProps) {
  return (
    <button
      className={buttonClass(look)}
      type="button"
      aria-disabled={isDisabled}
      onClick={isDisabled === true ? undefined : onClick}
      {...buttonProps}
    >
      {icon !== undefined && <Icon name={icon} />}
      {text}
      {children}
    </button>
  );
}

export function ButtonLink({ look, icon, text, href }: ButtonContent & { href: string }) {
  return (
    <Link className={buttonClass(look)} href={href}>
      {icon !== undefined && <Icon name={icon} />}
      {text}
    </Link>
  );
}

function buttonClass(look = ''): string {
  const variants = look.split(' ').filter(Boolean);
  return ['button', ...variants.map((variant) => `button--${variant}`)].join(' ');
}

/** A button that copies a text, and then says *Copied*. */
export function CopyButton({ value, text = 'Copy', look = 'small' }: { value: string; text?: string; look?: string }) {
  const [copiedText, setCopied] = useState<string | null>(null);
  // Browsers allow the clipboard only to pages that were loaded over HTTPS.
  if (!isSecureContext) return null;
  const copy = () => navigator.clipboard.writeText(value).then(() => setCopied(value));
  return <Button text={copiedText === value ? 'Copied' : text} look={look} icon="copy" onClick={() => void copy()} />;
}

/** Downloads a file, like a click on a link to it. */
export function downloadFile(href: string, name: string): void {
  Object.assign(document.createElement('a'), { href, download: name }).click();
}

/** A state in one word, with a colour. */
export function Badge({ tone, icon, text }: { tone?: 'gain' | 'loss' | 'warn'; icon?: string; text: ReactNode }) {
  return (
    <span className={tone === undefined ? 'badge' : `badge badge--${tone}`}>
      {icon !== undefined && <Icon name={icon} />}
      {text}
    </span>
  );
}
