import { useMutation } from '@tanstack/react-query';
import { Suspense } from 'react';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import type { Schemas } from './api/client.js';
import { signOut, useInterruption } from './api/session.js';
import { NotForYou, NotHere } from './pages/absent.js';
import { SessionEnded } from './pages/session-ended.js';
import { PAGES, type Page } from './pages.js';
import { Brand, Icon } from './parts/icon.js';
import { Shape } from './parts/principal.js';
import { Toast } from './parts/toast.js';

type Me = Schemas['ConsoleAccountResponse'];

/** Navigation beside the page. */
export function Frame({ me }: { me: Me }) {
  const isAdministrator = me.role === 'admin';
  const interruption = useInterruption();
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
        <Suspense fallback={<main id="main" aria-busy="true" />}>
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
        </Suspense>
      </div>
      <Toast />
      {interruption !== null && <SessionEnded username={me.username} by={interruption} />}
    </>
  );
}

const HOME_OF_ADMINISTRATORS = PAGES.find(({ isOpen }) => isOpen !== true)?.paths[0] ?? '/me';

function Navigation({ me }: { me: Me }) {
  const leaving = useMutation({ mutationFn: signOut });
  const pages = PAGES.filter(({ isOpen }) => isOpen === true || me.role === 'admin');
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
              <Entry key={page.name} page={page} />
            ))}
        </ul>
      ))}
      <div className="nav__foot">
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

function Entry({ page }: { page: Page }) {
  const [path] = useLocation();
  const [href = '/'] = page.paths;
  const isCurrent = path === href || path.startsWith(`${href}/`);
  const close = (): void => document.getElementById('nav')?.hidePopover();
  return (
    <li>
      <Link href={href} aria-current={isCurrent ? 'page' : undefined} onClick={close}>
        <Icon name={page.icon} />
        {page.name}
      </Link>
    </li>
  );
}
