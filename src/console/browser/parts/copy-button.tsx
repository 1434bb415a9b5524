import { useState } from 'react';
import { Icon } from './icon.js';

interface CopyButtonProps {
  /** What is copied. */
  value: string;
  text?: string;
  isQuiet?: boolean;
}

/** Copies a text, and says so. */
export function CopyButton({ value, text = 'Copy', isQuiet = false }: CopyButtonProps) {
  const [copied, setCopied] = useState<string | null>(null);
  // Browsers give the clipboard to no page that came in the clear.
  if (!isSecureContext) return null;
  return (
    <button
      className={`button button--small${isQuiet ? ' button--quiet' : ''}`}
      type="button"
      onClick={() => void navigator.clipboard.writeText(value).then(() => setCopied(value))}
    >
      <Icon name="copy" />
      {copied === value ? 'Copied' : text}
    </button>
  );
}
