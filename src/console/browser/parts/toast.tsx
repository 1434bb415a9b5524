import { useEffect, useState, useSyncExternalStore } from 'react';
import { Link } from 'wouter';
import { Icon } from './icon.js';

interface Message {
  text: string;
  /** Where to follow what was begun. */
  link?: { href: string; text: string };
  /** Of the service, about what was written all the same. */
  warnings?: readonly string[] | undefined;
}

let shown: Message | null = null;
const listeners = new Set<() => void>();

/** Tells of a success, whatever page comes next. */
export function toast(message: Message | null): void {
  shown = message;
  for (const listener of listeners) listener();
}

/** Milliseconds that a success is told, and one with warnings. */
const LIFE = 6_000;
const LIFE_WITH_WARNINGS = 30_000;

/** The last success, for a while, or as long as the pointer or the focus is on it. */
export function Toast() {
  const message = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => shown,
  );
  const [isHeld, hold] = useState(false);
  useEffect(() => {
    if (message === null || isHeld) return;
    const timer = setTimeout(() => toast(null), message.warnings?.length ? LIFE_WITH_WARNINGS : LIFE);
    return () => clearTimeout(timer);
  }, [message, isHeld]);
  // What comes into the page as a whole is not read aloud: the region is there before.
  return (
    <div aria-live="polite">
      {message !== null && (
        <div
          className="toast"
          role="status"
          onMouseEnter={() => hold(true)}
          onMouseLeave={() => hold(false)}
          onFocus={() => hold(true)}
          onBlur={() => hold(false)}
        >
          <Icon name="check" />
          <span>{[message.text, ...(message.warnings ?? [])].join(' ')}</span>
          {message.link !== undefined && <Link href={message.link.href}>{message.link.text}</Link>}
        </div>
      )}
    </div>
  );
}
