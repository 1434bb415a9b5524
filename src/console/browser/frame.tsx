import { useMutation } from '@tanstack/react-query';
import { Component, type ReactNode, useEffect } from 'react';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import { Problem, type Schemas } from './api/client.js';
import { usePublishingStatus } from './api/publishing.js';
import { signOut, useInterruption, useMe, useOwnSession } from './api/session.js';
import { hrefOf, type Page, PAGES } from './pages.js';
import { SessionEnded } from './pages/sign-in.js';
import { Brand, Button, Icon } from './parts/controls.js';
import { Moment, Shape } from './parts/display.js';
import { Failure, Toast } from './parts/notice.js';
import { AdministratorsOnlyPage, NotFoundPage } from './parts/page.js';

/** Navigation beside the page. */
export function Frame() {
  const me = useMe();
  const isAdministrator = me.role === 'admin';
  const interruption = useInterruption();
  const [path] = useLocation();
  useOwnSession(me.id);
  useKeptFocus();
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
                  {page.isOpen === true || isAdministrator ? <Content /> : <AdministratorsOnlyPage page={page.name} />}
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
      {interruption !== null && <SessionEnded by={interruption} />}
    </>
  );
}

function Navigation() {
  const me = useMe();
  const leaving = useMutation({ mutationFn: signOut });
  const isAdministrator = me.role === 'admin';
  const pages = PAGES.filter(({ section }) => section === 'own' || isAdministrator);
  const status = usePublishingStatus(isAdministrator).data;
  const isWaiting = (status?.waiting_for_approval ?? null) !== null;
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
              <Entry key={page.name} page={page} isWaiting={isWaiting && page.name === 'Publications'} />
            ))}
        </ul>
      ))}
      <div className="nav__foot">
        {isWaiting && (
          <span className="hidden" id="waits">
            1 change waits for approval
          </span>
        )}
        {status !== undefined && <Live status={status} />}
        <a href="/api/docs">API</a>
        <div className="nav__me">
          <span className="principal">
            <Shape of={{ type: 'user', name: me.username }} />
            <span>{me.username}</span>
          </span>
          <Button
            look="quiet small icon"
            icon="out"
            aria-label="Sign out"
            title="Sign out"
            isOff={leaving.isPending}
            onClick={() => leaving.mutate()}
          />
        </div>
      </div>
    </nav>
  );
}

/** The live version. */
function Live({ status: { published, live, next_run_at: nextRun } }: { status: Schemas['StatusResponse'] }) {
  if (published === null) return null;
  const isLive = live?.hash === published.hash;
  return (
    <p className="live">
      <span className={isLive ? 'live__dot' : 'live__dot live__dot--not'} aria-hidden="true" />
      <b>
        Version {published.version} is {isLive ? 'live' : 'published'}
      </b>
      {nextRun !== null && (
        <small>
          next run <Moment at={nextRun} />
        </small>
      )}
    </p>
  );
}

function Entry({ page, isWaiting }: { page: Page; isWaiting: boolean }) {
  const [path] = useLocation();
  const href = hrefOf(page);
  const isCurrent = path === href || path.startsWith(`${href}/`);
  return (
    <li>
      <Link
        href={href}
        aria-current={isCurrent ? 'page' : undefined}
        aria-describedby={isWaiting ? 'waits' : undefined}
        onClick={() => document.getElementById('nav')?.hidePopover()}
      >
        <Icon name={page.icon} />
        {page.name}
        {isWaiting && (
          <span className="count" aria-hidden="true">
            1
          </span>
        )}
      </Link>
    </li>
  );
}

interface PageBoundaryProps {
  /** Path of the page; another path clears the error. */
  path: string;
  children: ReactNode;
}

interface State {
  error: Error | null;
}

const TEXT = 'It did not arrive whole, or has a fault. Retry loads the console anew.';

/** Replaces a page that could not be shown, such as when its script did not arrive. */
class PageBoundary extends Component<PageBoundaryProps, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: Error): State {
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
        <Failure problem={new Problem(0, error.message, TEXT, null, null, [])} retry={() => location.reload()} />
      </main>
    );
  }
}

const FOCUSABLE = 'a[href], button, input, select, textarea, [tabindex="0"]';

/** The element with the focus, and its index among the focusable elements of each ancestor, the nearest first. */
interface Place {
  element: Element;
  within: readonly { ancestor: Element; index: number }[];
}

/**
 * Moves the focus when its element is removed from the page, such as a row with its button: to the element in its place, as near
 * as possible, or to the page. Browsers would start again at the top.
 */
function useKeptFocus(): void {
  useEffect(() => {
    let last: Place | null = null;
    const isLost = (): boolean => document.activeElement === null || document.activeElement === document.body;
    const remember = ({ target }: FocusEvent): void => {
      last = target instanceof Element ? placeOf(target) : null;
    };
    // A click beside all controls forgets the element. A removed one may lose the focus before its removal, hence the microtask.
    const forget = (): void =>
      queueMicrotask(() => {
        if (last?.element.isConnected === true && isLost()) last = null;
      });
    const observer = new MutationObserver(() => {
      if (last !== null && !last.element.isConnected && isLost()) successorOf(last)?.focus({ preventScroll: true });
    });
    document.addEventListener('focusin', remember);
    document.addEventListener('focusout', forget);
    observer.observe(document.body, { childList: true, subtree: true });
    return () => {
      document.removeEventListener('focusin', remember);
      document.removeEventListener('focusout', forget);
      observer.disconnect();
    };
  }, []);
}

function placeOf(element: Element): Place {
  const within: { ancestor: Element; index: number }[] = [];
  for (let at = element.parentElement; at !== null && at.id !== 'main'; at = at.parentElement)
    within.push({ ancestor: at, index: [...at.querySelectorAll(FOCUSABLE)].indexOf(element) });
  return { element, within };
}

function successorOf({ within }: Place): HTMLElement | null {
  const main = document.getElementById('main');
  for (const { ancestor, index } of within) {
    if (main?.contains(ancestor) !== true) continue;
    const there = ancestor.querySelectorAll<HTMLElement>(FOCUSABLE);
    const successor = there[Math.min(Math.max(index, 0), there.length - 1)];
    if (successor !== undefined) return successor;
  }
  return main;
}
