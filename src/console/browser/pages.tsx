import { lazy, type ReactNode } from 'react';
import { Route, Switch } from 'wouter';
import type { Schemas } from './api/client.js';
import { Data } from './pages/data.js';
import { MyAccess } from './pages/my-access.js';

export interface Page {
  /** Its link in the navigation. */
  name: string;
  icon: string;
  /** Without one it has no link there. */
  section?: 'own' | 'access' | 'history';
  /** The first is where its link leads. */
  paths: readonly string[];
  /** To everybody; the others to administrators alone. */
  isOpen?: true;
  show: (me: Schemas['ConsoleAccountResponse']) => ReactNode;
}

// Pages that few open first are loaded when somebody comes to them.
const Audit = lazy(() => import('./pages/audit.js').then(({ Audit: page }) => ({ default: page })));
const Engine = lazy(() => import('./pages/engine.js').then(({ Engine: page }) => ({ default: page })));
const GrantDraft = lazy(() => import('./pages/new-grant.js').then(({ GrantDraft: page }) => ({ default: page })));
const GroupPage = lazy(() => import('./pages/group.js').then(({ GroupPage: page }) => ({ default: page })));
const Groups = lazy(() => import('./pages/groups.js').then(({ Groups: page }) => ({ default: page })));
const Grants = lazy(() => import('./pages/grants.js').then(({ Grants: page }) => ({ default: page })));
const People = lazy(() => import('./pages/people.js').then(({ People: page }) => ({ default: page })));
const Person = lazy(() => import('./pages/person.js').then(({ Person: page }) => ({ default: page })));
const Policies = lazy(() => import('./pages/policies.js').then(({ Policies: page }) => ({ default: page })));
const PolicyPage = lazy(() => import('./pages/policy.js').then(({ PolicyPage: page }) => ({ default: page })));
const PublicationPage = lazy(() =>
  import('./pages/publication.js').then(({ PublicationPage: page }) => ({ default: page })),
);
const Publications = lazy(() =>
  import('./pages/publications.js').then(({ Publications: page }) => ({ default: page })),
);
const Sql = lazy(() => import('./pages/sql.js').then(({ Sql: page }) => ({ default: page })));
const Why = lazy(() => import('./pages/why.js').then(({ Why: page }) => ({ default: page })));

/** Every page, in the order of the navigation. */
export const PAGES: readonly Page[] = [
  {
    name: 'My access',
    icon: 'me',
    section: 'own',
    paths: ['/me'],
    isOpen: true,
    show: (me) => <MyAccess isAdministrator={me.role === 'admin'} />,
  },
  { name: 'SQL', icon: 'sql', section: 'own', paths: ['/sql'], isOpen: true, show: (me) => <Sql me={me} /> },
  {
    name: 'Data',
    icon: 'root',
    section: 'access',
    paths: ['/data', '/data/:catalog', '/data/:catalog/:schema', '/data/:catalog/:schema/:table'],
    show: () => <Data />,
  },
  {
    name: 'People',
    icon: 'person',
    section: 'access',
    paths: ['/people', '/people/:id'],
    show: () => (
      <Switch>
        <Route path="/people/:id" component={Person} />
        <Route component={People} />
      </Switch>
    ),
  },
  {
    name: 'Groups',
    icon: 'group',
    section: 'access',
    paths: ['/groups', '/groups/:id'],
    show: () => (
      <Switch>
        <Route path="/groups/:id" component={GroupPage} />
        <Route component={Groups} />
      </Switch>
    ),
  },
  {
    name: 'Grants',
    icon: 'grant',
    section: 'access',
    paths: ['/grants', '/grants/new'],
    show: () => (
      <Switch>
        <Route path="/grants/new" component={GrantDraft} />
        <Route component={Grants} />
      </Switch>
    ),
  },
  {
    name: 'Policies',
    icon: 'policy',
    section: 'access',
    paths: ['/policies', '/policies/:id'],
    show: (me) => (
      <Switch>
        <Route path="/policies/:id">
          <PolicyPage me={me} />
        </Route>
        <Route component={Policies} />
      </Switch>
    ),
  },
  { name: 'Why', icon: 'info', paths: ['/why'], isOpen: true, show: (me) => <Why me={me} /> },
  { name: 'Engine', icon: 'gear', section: 'access', paths: ['/engine'], show: () => <Engine /> },
  {
    name: 'Publications',
    icon: 'publication',
    section: 'history',
    paths: ['/publications', '/publications/:version'],
    show: () => (
      <Switch>
        <Route path="/publications/:version" component={PublicationPage} />
        <Route component={Publications} />
      </Switch>
    ),
  },
  { name: 'Audit', icon: 'audit', section: 'history', paths: ['/audit'], show: () => <Audit /> },
];
