import { type ReactNode, useEffect, useState } from 'react';
import { Link } from 'wouter';
import { fieldName, isProblem, Problem } from '../api/client.js';
import { interruptionOf, sharedState } from '../api/session.js';
import { clockTime } from '../domain/moment-text.js';
import { now } from '../now.js';
import { Button, CopyButton, Icon } from './controls.js';
import { Moment } from './display.js';

interface NoticeProps {
  tone: 'gain' | 'loss' | 'warn';
  icon?: string;
  title: ReactNode;
  /** A notice that appears by itself is read aloud: a failure as `alert`. */
  role?: 'alert' | 'status';
  text?: string;
  /** Buttons. */
  actions?: ReactNode;
  children?: ReactNode;
}

/** A notice in the page, shown as long as its cause lasts. */
export function Notice({ tone, icon = 'warn', title, role, text, actions, children }: NoticeProps) {
  return (
    <div className={`notice notice--${tone}`} role={role}>
      <Icon name={icon} />
      <div>
        <b>{title}</b>
        {text !== undefined && <p>{text}</p>}
        {children}
      </div>
      {actions && <div className="row">{actions}</div>}
    </div>
  );
}

/** A short remark beside what it is about. */
export function Note({ icon = 'info', role, children }: Pick<NoticeProps, 'icon' | 'role' | 'children'>) {
  return (
    <p className="note" role={role}>
      <Icon name={icon} />
      <span>{children}</span>
    </p>
  );
}

/** What happened, and what to do, by code. Codes without an entry show the text of the service. */
const TEXTS: Record<string, string> = {
  not_found: 'There is no such thing, or it was removed meanwhile.',
  invalid_credentials: 'Username or password is wrong.',
  account_deactivated: 'This account is deactivated. Ask an administrator.',
  unreachable: 'The service does not answer. What you typed is kept.',
  database_unavailable: 'The service cannot reach its database. What you typed is kept.',
  engine_unavailable: 'The engine does not answer. Statements cannot run; grants and publications go on.',
  approval_not_awaited: 'This text is no longer proposed. If a newer one waits, look at it before you approve.',
  reauthentication_required: 'Confirm with your password: the last time is more than 5 minutes ago.',
  last_administrator: 'This is the last active administrator. Make somebody else one first.',
  sync_in_progress: 'A run is going on. Try again in a moment.',
  busy: 'The service is busy. Try again in a moment.',
  cross_site: 'Your browser did not say that this page made the request. Open the page at its own address.',
};

/** Fields of requests whose label in forms is another word. */
const LABELS: Record<string, string> = { expires_at: 'Expires', principal: 'Person or group', resource: 'Where' };

/** A field of a request as forms call it: `new_password` is *New password*. */
function fieldLabel(name: string): string {
  return LABELS[name] ?? name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');
}

/** The same request can succeed later. */
function canHelp(problem: Error): boolean {
  if (!(problem instanceof Problem)) return true;
  if (problem.code === 'engine_unavailable') return problem.retryAfter !== null;
  return [0, 429].includes(problem.status) || problem.status >= 500 || isProblem(problem, 'sync_in_progress');
}

/** A failure in one sentence. */
export function failureText(problem: Error): string {
  if (!(problem instanceof Problem)) return problem.message;
  if (problem.status === 429 && problem.retryAfter !== null) {
    const at = new Date(now().getTime() + problem.retryAfter * 1000);
    return `Too many attempts from here. Try again at ${clockTime(at)}.`;
  }
  const [first] = problem.fields;
  if (first?.field) return [fieldLabel(fieldName(first.field)), first.message].filter(Boolean).join(': ');
  // Without a Retry-After no engine is configured, as the text of the service says.
  if (problem.code === 'engine_unavailable' && problem.retryAfter === null) return problem.message;
  return TEXTS[problem.code] ?? problem.message;
}

/** A failure: its text, its code and request id for the operator, and a button to retry. Interruptions have dialogs instead. */
export function Failure({ problem, retry }: { problem: Error; retry?: (() => void) | undefined }) {
  if (interruptionOf(problem) !== null) return null;
  return (
    <Notice
      tone="loss"
      role="alert"
      title={failureText(problem)}
      actions={retry && canHelp(problem) && <Button text="Retry" look="small" onClick={retry} />}
    >
      {problem instanceof Problem && (
        <p>
          <small>
            {problem.code}
            {problem.requestId === null ? '' : ` · request ${problem.requestId}`}
          </small>
        </p>
      )}
    </Notice>
  );
}

interface Message {
  text: string;
  /** A link to the result. */
  link?: { href: string; text: string };
  /** Warnings of the service about a write that succeeded. */
  warnings?: readonly string[] | undefined;
}

const shown = sharedState<Message | null>(null);

/** Shows a success, on the next page as well. */
export const showToast = shown.set;

/** Milliseconds for which a success is shown, and one with warnings. */
const LIFE = 6_000;
const LIFE_WITH_WARNINGS = 30_000;

/** The last success, for a while, or as long as the pointer or the focus is on it. */
export function Toast() {
  const message = shown.use();
  const [isHeld, hold] = useState(false);
  useEffect(() => {
    if (message === null || isHeld) return;
    const timer = setTimeout(() => showToast(null), message.warnings?.length ? LIFE_WITH_WARNINGS : LIFE);
    return () => clearTimeout(timer);
  }, [message, isHeld]);
  // The live region is in the page before its content: otherwise browsers do not read it aloud.
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

interface SecretProps {
  title: string;
  secret: string;
  expiresAt: string | null;
  /** Instructions for using the secret. */
  children: string;
  close: () => void;
}

/** A one-time password or a token: shown once, to be copied. */
export function Secret({ title, secret, expiresAt, children, close }: SecretProps) {
  return (
    <Notice
      tone="gain"
      icon="check"
      role="status"
      title={title}
      actions={
        <>
          <CopyButton value={secret} />
          <Button text="Done" look="small quiet" onClick={close} />
        </>
      }
    >
      <p>
        {children} It is shown here and never again
        {expiresAt !== null && (
          <>
            , and can be used until <Moment at={expiresAt} />
          </>
        )}
        .
      </p>
      <code className="code" tabIndex={0} role="group" aria-label={title}>
        {secret}
      </code>
    </Notice>
  );
}
