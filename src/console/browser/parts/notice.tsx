import { type ReactNode, useEffect, useId, useState } from 'react';
import { Link } from 'wouter';
import { formFieldOf, isProblem, Problem } from '../api/client.js';
import { interruptionOf, createSharedState } from '../api/session.js';
import { clockTime } from '../domain/moment-text.js';
import { now } from '../now.js';
import { FAILURE_KEYS, useAddress } from './address.js';
import { Button, CopyButton, Icon } from './controls.js';
import { Moment } from './display.js';

interface NoticeProps {
  tone: 'gain' | 'loss' | 'warn';
  icon?: string;
  title: ReactNode;
  isRegion?: boolean;
  /** Set for a notice that appears after the page, so that screen readers read it aloud; `alert` for a failure. */
  role?: 'alert' | 'status';
  text?: string;
  actions?: ReactNode;
  children?: ReactNode;
}

/** A notice in the page, shown as long as its cause lasts. */
export function Notice({ tone, icon = 'warn', title, isRegion = false, role, text, actions, children }: NoticeProps) {
  const id = useId();
  const [Container, Title] = isRegion ? (['section', 'h2'] as const) : (['div', 'b'] as const);
  return (
    <Container className={`notice notice--${tone}`} role={role} aria-labelledby={isRegion ? id : undefined}>
      <Icon name={icon} />
      <div>
        <Title id={id}>{title}</Title>
        {text !== undefined && <p>{text}</p>}
        {children}
      </div>
      {actions && <div className="row">{actions}</div>}
    </Container>
  );
}

/** A short remark beside its subject. */
export function Note({ icon = 'info', role, children }: Pick<NoticeProps, 'icon' | 'role' | 'children'>) {
  return (
    <p className="note" role={role}>
      <Icon name={icon} />
      <span>{children}</span>
    </p>
  );
}

/** Texts for failures, by code: what happened, and what to do. For other codes the message of the service is shown. */
const FAILURE_TEXTS: Record<string, string> = {
  not_found: 'There is no such thing, or it was removed meanwhile.',
  invalid_credentials: 'Username or password is wrong.',
  account_deactivated: 'This account is deactivated. Ask an administrator.',
  unreachable: 'The service does not answer. What you typed is kept.',
  database_unavailable: 'The service cannot reach its database. What you typed is kept.',
  engine_unavailable: 'The engine does not answer. Statements cannot run; grants and publications go on.',
  approval_not_awaited: 'This change is no longer proposed. If a newer one waits, look at it before you approve.',
  reauthentication_required: 'Confirm with your password: the last time is more than 5 minutes ago.',
  last_administrator: 'This is the last active administrator. Make somebody else one first.',
  too_many_queries: 'Too many of your statements are running. Wait until one ends, or cancel it, then run this again.',
  too_many_unread_rows: 'Your statements hold too many unread rows. Read or cancel some, then run this again.',
  sync_in_progress: 'A run is going on. Try again in a moment.',
  busy: 'The service is busy. Try again in a moment.',
  cross_site: 'Your browser did not say that this page made the request. Open the page at its own address.',
};

const FIELD_LABELS: Record<string, string> = { expires_at: 'Expires', principal: 'Person or group', resource: 'Where' };

/** The label of a request field: *New password* for `new_password`. */
function fieldLabel(name: string): string {
  return FIELD_LABELS[name] ?? name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');
}

function canSucceedLater(problem: Error): boolean {
  if (!(problem instanceof Problem)) return true;
  if (problem.code === 'engine_unavailable') return problem.retryAfter !== null;
  return [0, 429].includes(problem.status) || problem.status >= 500 || isProblem(problem, 'sync_in_progress');
}

/** A failure in one sentence. */
export function failureText(problem: Error): string {
  if (!(problem instanceof Problem)) return problem.message;
  if (problem.status === 429 && problem.retryAfter !== null && !(problem.code in FAILURE_TEXTS)) {
    const retryTime = new Date(now().getTime() + problem.retryAfter * 1000);
    return `Too many attempts from here. Try again at ${clockTime(retryTime)}.`;
  }
  const [{ field, message } = { field: '', message: '' }] = problem.fieldErrors;
  if (field !== '') return [fieldLabel(formFieldOf(field)), message].filter(Boolean).join(': ');
  // An answer without Retry-After means that no engine is configured. The message of the service says so.
  if (problem.code === 'engine_unavailable' && problem.retryAfter === null) return problem.message;
  return FAILURE_TEXTS[problem.code] ?? problem.message;
}

/** A failure: its text, its code and request id for the operator, and a button to retry. Interruptions have dialogs instead. */
export function Failure({ problem, retry }: { problem: Error; retry?: (() => void) | undefined }) {
  if (interruptionOf(problem) !== null) return null;
  return (
    <Notice
      tone="loss"
      role="alert"
      title={failureText(problem)}
      actions={retry && canSucceedLater(problem) && <Button text="Retry" look="small" onClick={retry} />}
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

/** Why a sign-in at the provider failed, by the code in the return address. @param props.texts by code; `other` for codes without a text */
export function ReturnFailure({ texts }: { texts: Readonly<Record<string, string>> & { other: string } }) {
  const { search } = useAddress();
  const code = search.get(FAILURE_KEYS.code);
  if (code === null) return null;
  return (
    <Failure problem={new Problem(0, code, texts[code] ?? texts.other, search.get(FAILURE_KEYS.requestId), null, [])} />
  );
}

interface ToastMessage {
  text: string;
  link?: { href: string; text: string };
  warnings?: readonly string[] | undefined;
}

const toastState = createSharedState<ToastMessage | null>(null);

/** Shows a message of success, which stays when another page is opened. */
export const showToast = toastState.set;

/** The last message of success. It disappears after a while, unless the pointer or the focus is on it. */
export function Toast() {
  const message = toastState.use();
  const [isPaused, setPaused] = useState(false);
  useEffect(() => {
    if (message === null || isPaused) return;
    const timer = setTimeout(() => showToast(null), message.warnings?.length ? 30_000 : 6_000);
    return () => clearTimeout(timer);
  }, [message, isPaused]);
  // The live region exists before its content; otherwise screen readers would not read the content.
  return (
    <div aria-live="polite">
      {message !== null && (
        <div
          className="toast"
          role="status"
          onMouseEnter={() => setPaused(true)}
          onMouseLeave={() => setPaused(false)}
          onFocus={() => setPaused(true)}
          onBlur={() => setPaused(false)}
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
  children: string;
  close: () => void;
}

/** A one-time password or an API token, which is shown once and can be copied. */
export function SecretNotice({ title, secret, expiresAt, children, close }: SecretProps) {
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
            , and can be used until <Moment time={expiresAt} />
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
