import { Problem } from '../api/client.js';
import { clockTime } from '../domain/moment-text.js';
import { now } from '../now.js';
import { Notice } from './notice.js';

/** What happened, and what to do. Codes without an entry say what the service said. */
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

/** A field of a draft as its form calls it: *principal*. */
function fieldText(field: string): string {
  return field.replace(/^(grant|revoke|policies\.put)\.\d+\.?/, '').replace(/\.(id|name)$/, '');
}

/** A failure in one sentence. */
export function failureText(problem: Error): string {
  if (!(problem instanceof Problem)) return problem.message;
  if (problem.status === 429 && problem.retryAfter !== null) {
    const at = new Date(now().getTime() + problem.retryAfter * 1000);
    return `Too many attempts from here. Try again at ${clockTime(at)}.`;
  }
  const [first] = problem.fields;
  if (first !== undefined) return [fieldText(first.field), first.message].filter((part) => part !== '').join(': ');
  // Without a time to try again there is no engine, and the service says so.
  if (problem.code === 'engine_unavailable' && problem.retryAfter === null) return problem.message;
  return TEXTS[problem.code] ?? problem.message;
}

/** A failure where it happened: what it was, the code and request id for whoever runs the service, and another try. */
export function Failure({ problem, retry }: { problem: Error; retry?: () => void }) {
  return (
    <Notice
      tone="loss"
      role="alert"
      title={failureText(problem)}
      actions={
        retry && (
          <button className="button button--small" type="button" onClick={retry}>
            Retry
          </button>
        )
      }
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
