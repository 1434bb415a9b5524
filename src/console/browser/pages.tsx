import { type ComponentType, createElement, lazy, type ReactNode, Suspense } from 'react';
import { Route, Switch } from 'wouter';
import type { Schemas } from './api/client.js';

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

/** A page that is loaded when somebody comes to it. What it waits for is its own: the page before is gone by then, and its timers. */
function later<P extends object>(load: () => Promise<ComponentType<P>>) {
  const Page = lazy<ComponentType<P>>(async () => ({ default: await load() }));
  return (props: P) => <Suspense fallback={<main id="main" aria-busy="true" />}>{createElement(Page, props)}</Suspense>;
}

const Audit = later(async () => (await import('./pages/audit.js')).Audit);
const Data = later(async () => (await import('./pages/data.js')).Data);
const Engine = later(async () => (await import('./pages/engine.js')).Engine);
const GrantDraft = later(async () => (await import('./pages/new-grant.js')).GrantDraft);
const GroupPage = later(async () => (await import('./pages/group.js')).GroupPage);
const Groups = later(async () => (await import('./pages/groups.js')).Groups);
const Grants = later(async () => (await import('./pages/grants.js')).Grants);
const MyAccess = later(async () => (await import('./pages/my-access.js')).MyAccess);
const People = later(async () => (await import('./pages/people.js')).People);
const Person = later(async () => (await import('./pages/person.js')).Person);
const Policies = later(async () => (await import('./pages/policies.js')).Policies);
const PolicyPage = later(async () => (await import('./pages/policy.js')).PolicyPage);
const PublicationPage = later(async () => (await import('./pages/publication.js')).PublicationPage);
const Publications = later(async () => (await import('./pages/publications.js')).Publications);
const Sql = later(async () => (await import('./pages/sql.js')).Sql);
const Why = later(async () => (await import('./pages/why.js')).Why);

function ListOrOne({ list, path, one }: { list: ComponentType; path: string; one: ComponentType }) {
  return (
    <Switch>
      <Route path={path} component={one} />
      <Route component={list} />
    </Switch>
  );
}

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
    show: () => <ListOrOne list={People} path="/people/:id" one={Person} />,
  },
  {
    name: 'Groups',
    icon: 'group',
    section: 'access',
    paths: ['/groups', '/groups/:id'],
    show: () => <ListOrOne list={Groups} path="/groups/:id" one={GroupPage} />,
  },
  {
    name: 'Grants',
    icon: 'grant',
    section: 'access',
    paths: ['/grants', '/grants/new'],
    show: () => <ListOrOne list={Grants} path="/grants/new" one={GrantDraft} />,
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
    show: () => <ListOrOne list={Publications} path="/publications/:version" one={PublicationPage} />,
  },
  { name: 'Audit', icon: 'audit', section: 'history', paths: ['/audit'], show: () => <Audit /> },
];
