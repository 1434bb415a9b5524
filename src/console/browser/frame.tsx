import { useMutation } from '@tanstack/react-query';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import type { Schemas } from './api/client.js';
import { usePublishingStatus } from './api/publishing.js';
import { signOut, useInterruption, useOwnSession } from './api/session.js';
import { NotForYou, NotHere } from './pages/absent.js';
import { SessionEnded } from './pages/session-ended.js';
import { PAGES, type Page } from './pages.js';
import { Brand, Icon } from './parts/icon.js';
import { useKeptFocus } from './parts/kept-focus.js';
import { Moment } from './parts/moment.js';
import { PageBoundary } from './parts/page-boundary.js';
import { Shape } from './parts/principal.js';
import { Toast } from './parts/toast.js';

type Me = Schemas['ConsoleAccountResponse'];

/** Navigation beside the page. */
export function Frame({ me }: { me: Me }) {
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
          <button className="button button--quiet" type="button" popoverTarget="nav">
            <Icon name="menu" />
            Menu
          </button>
        </header>
        <Navigation me={me} />
        <PageBoundary path={path}>
          <Switch>
            <Route path="/">
              <Redirect to={isAdministrator ? HOME_OF_ADMINISTRATORS : '/me'} replace />
            </Route>
            {PAGES.flatMap((page) =>
              page.paths.map((path) => (
                <Route key={path} path={path}>
                  {page.isOpen === true || isAdministrator ? page.show(me) : <NotForYou page={page.name} />}
                </Route>
              )),
            )}
            <Route>
              <NotHere />
            </Route>
          </Switch>
        </PageBoundary>
      </div>
      <Toast />
      {interruption !== null && <SessionEnded username={me.username} by={interruption} />}
    </>
  );
}

const HOME_OF_ADMINISTRATORS = PAGES.find(({ isOpen }) => isOpen !== true)?.paths[0] ?? '/me';

function Navigation({ me }: { me: Me }) {
  const leaving = useMutation({ mutationFn: signOut });
  const isAdministrator = me.role === 'admin';
  const pages = PAGES.filter((page) => page.section !== undefined && (page.isOpen === true || isAdministrator));
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
              <Entry key={page.name} page={page} isWaiting={isWaiting && page.paths.includes(PUBLICATIONS)} />
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
        <div className="nav__me">
          <span className="principal">
            <Shape of={{ type: 'user', name: me.username }} />
            <span>{me.username}</span>
          </span>
          <button
            className="button button--quiet button--small button--icon"
            type="button"
            aria-label="Sign out"
            title="Sign out"
            aria-disabled={leaving.isPending}
            onClick={() => leaving.mutate()}
          >
            <Icon name="out" />
          </button>
        </div>
      </div>
    </nav>
  );
}

const PUBLICATIONS = '/publications';

/** Which version is live, on every page. */
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
  const [href = '/'] = page.paths;
  const isCurrent = path === href || path.startsWith(`${href}/`);
  const close = (): void => document.getElementById('nav')?.hidePopover();
  return (
    <li>
      <Link
        href={href}
        aria-current={isCurrent ? 'page' : undefined}
        aria-describedby={isWaiting ? 'waits' : undefined}
        onClick={close}
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
