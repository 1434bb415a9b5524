import { useMutation } from '@tanstack/react-query';
import { Component, type ReactNode, useEffect } from 'react';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import { Problem, type Schemas } from './api/client.js';
import { usePublishingStatus } from './api/publishing.js';
import { signOut, useInterruption, useOwnAccount, useSessionCheck } from './api/session.js';
import { hrefOf, type Page, PAGES } from './pages.js';
import { SessionEnded } from './pages/sign-in.js';
import { Brand, Button, Icon } from './parts/controls.js';
import { Moment, PrincipalIcon } from './parts/display.js';
import { Failure, Toast } from './parts/notice.js';
import { ForbiddenPage, NotFoundPage } from './parts/page.js';

/** The navigation, and the page beside it. */
export function Frame() {
  const account = useOwnAccount();
  const isAdministrator = account.role === 'admin';
  const interruption = useInterruption();
  const [path] = useLocation();
  useSessionCheck(account.id);
  useFocusRestoration();
  return (
    <>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <div className="app">
        <header className="bar">
          <Link className="brand" href="/">
            <Brand />
          </Link>
          <Button text="Menu" look="quiet" icon="menu" popoverTarget="nav" />
        </header>
        <Navigation />
        <PageBoundary path={path}>
          <Switch>
            <Route path="/">
              <Redirect to={isAdministrator ? '/data' : '/me'} replace />
            </Route>
            {PAGES.flatMap((page) =>
              Object.entries(page.routes).map(([path, Content]) => (
                <Route key={path} path={path}>
                  {page.isForEverybody === true || isAdministrator ? <Content /> : <ForbiddenPage name={page.name} />}
                </Route>
              )),
            )}
            <Route>
              <NotFoundPage />
            </Route>
          </Switch>
        </PageBoundary>
      </div>
      <Toast />
      {interruption !== null && <SessionEnded reason={interruption} />}
    </>
  );
}

function Navigation() {
  const account = useOwnAccount();
  const signOutMutation = useMutation({ mutationFn: signOut });
  const isAdministrator = account.role === 'admin';
  const pages = PAGES.filter(({ section }) => section === 'own' || isAdministrator);
  const status = usePublishingStatus(isAdministrator).data;
  const isChangeWaiting = (status?.waiting_for_approval ?? null) !== null;
  return (
    <nav className="nav" id="nav" aria-label="Main" popover="auto">
      <Link className="brand" href="/">
        <Brand />
      </Link>
      {[...new Set(pages.map(({ section }) => section))].map((section) => (
        <ul key={section}>
          {pages
            .filter((page) => page.section === section)
            .map((page) => (
              <NavigationEntry key={page.name} page={page} hasBadge={isChangeWaiting && page.name === 'Publications'} />
            ))}
        </ul>
      ))}
      <div className="nav__foot">
        {isChangeWaiting && (
          <span className="hidden" id="waits">
            1 change waits for approval
          </span>
        )}
        {status !== undefined && <LiveVersion status={status} />}
        {signOutMutation.isError && <Failure problem={signOutMutation.error} />}
        <a href="/api/docs">API</a>
        <div className="nav__me">
          <span className="principal">
            <PrincipalIcon principal={{ type: 'user', name: account.username }} />
            <span>{account.username}</span>
          </span>
          <Button
            look="quiet small icon"
            icon="out"
            aria-label="Sign out"
            title="Sign out"
            isDisabled={signOutMutation.isPending}
            onClick={() => signOutMutation.mutate()}
          />
        </div>
      </div>
    </nav>
  );
}

function LiveVersion({ status: { published, live, next_run_at: nextRunAt } }: { status: Schemas['StatusResponse'] }) {
  if (published === null) return null;
  const isLive = live?.hash === published.hash;
  return (
    <p className="live">
      <span className={isLive ? 'live__dot' : 'live__dot live__dot--not'} aria-hidden="true" />
      <b>
        Version {published.version} is {isLive ? 'live' : 'published'}
      </b>
      {nextRunAt !== null && (
        <small>
          next run <Moment time={nextRunAt} />
        </small>
      )}
    </p>
  );
}

function NavigationEntry({ page, hasBadge }: { page: Page; hasBadge: boolean }) {
  const [path] = useLocation();
  const href = hrefOf(page);
  const isCurrent = path === href || path.startsWith(`${href}/`);
  return (
    <li>
      <Link
        href={href}
        aria-current={isCurrent ? 'page' : undefined}
        aria-describedby={hasBadge ? 'waits' : undefined}
        onClick={() => document.getElementById('nav')?.hidePopover()}
      >
        <Icon name={page.icon} />
        {page.name}
        {hasBadge && (
          <span className="count" aria-hidden="true">
            1
          </span>
        )}
      </Link>
    </li>
  );
}

interface PageBoundaryProps {
  /** The path of the page. A new path clears the error. */
  path: string;
  children: ReactNode;
}

const FAULT_TEXT = 'It did not arrive whole, or has a fault. Retry loads the console anew.';

/** Shows an error in place of a page that failed, for example because its script could not be loaded. */
class PageBoundary extends Component<PageBoundaryProps, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidUpdate({ path }: PageBoundaryProps): void {
    if (this.state.error !== null && path !== this.props.path) this.setState({ error: null });
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <main id="main" className="stack" tabIndex={-1}>
        <h1>This page could not be shown</h1>
        <Failure problem={new Problem(0, error.message, FAULT_TEXT, null, null, [])} retry={() => location.reload()} />
      </main>
    );
  }
}

const FOCUSABLE_SELECTOR = 'a[href], button, input, select, textarea, [tabindex="0"]';

/** The element with the focus, and its index among the focusable elements of each ancestor, from the nearest ancestor up. */
interface FocusPlace {
  element: Element;
  ancestors: readonly { ancestor: Element; index: number }[];
}

/**
 * Keeps the focus in its place when the focused element is removed, for example the button of a deleted row: focuses the element that
 * is now at the same place, or else the page. Browsers would move the focus to the top of the page.
 */
function useFocusRestoration(): void {
  useEffect(() => {
    let lastPlace: FocusPlace | null = null;
    const isFocusLost = (): boolean => document.activeElement === null || document.activeElement === document.body;
    const rememberFocus = ({ target }: FocusEvent): void => {
      lastPlace = target instanceof Element ? focusPlaceOf(target) : null;
    };
    // A click outside all controls clears `lastPlace`. The removal of the focused element does not.
    const forgetFocus = (): void =>
      queueMicrotask(() => {
        if (lastPlace?.element.isConnected === true && isFocusLost()) lastPlace = null;
      });
    const observer = new MutationObserver(() => {
      if (lastPlace?.element.isConnected === false && isFocusLost())
        successorOf(lastPlace)?.focus({ preventScroll: true });
    });
    document.addEventListener('focusin', rememberFocus);
    document.addEventListener('focusout', forgetFocus);
    observer.observe(document.body, { childList: true, subtree: true });
    return () => {
      document.removeEventListener('focusin', rememberFocus);
      document.removeEventListener('focusout', forgetFocus);
      observer.disconnect();
    };
  }, []);
}

function focusPlaceOf(element: Element): FocusPlace {
  const ancestors: { ancestor: Element; index: number }[] = [];
  for (let parent = element.parentElement; parent !== null && parent.id !== 'main'; parent = parent.parentElement)
    ancestors.push({ ancestor: parent, index: [...parent.querySelectorAll(FOCUSABLE_SELECTOR)].indexOf(element) });
  return { element, ancestors };
}

function successorOf({ ancestors }: FocusPlace): HTMLElement | null {
  const mainElement = document.getElementById('main');
  for (const { ancestor, index } of ancestors) {
    if (mainElement?.contains(ancestor) !== true) continue;
    const candidates = ancestor.querySelectorAll<HTMLElement>(FOCUSABLE_SELECTOR);
    const successor = candidates[Math.min(Math.max(index, 0), candidates.length - 1)];
    if (successor !== undefined) return successor;
  }
  return mainElement;
}
