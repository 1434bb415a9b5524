import { type ComponentType, createElement, lazy, Suspense } from 'react';

export interface Page {
  name: string;
  icon: string;
  section: 'own' | 'access' | 'history';
  isForEverybody?: true;
  /** Components by address. The link in the navigation has the first address. */
  routes: Readonly<Record<string, ComponentType>>;
}

/** A page whose script is loaded when the page is opened. Until then an empty page is shown, so that the previous page and its timers are removed. */
function lazyPage(loadPage: () => Promise<ComponentType>): ComponentType {
  const LoadedPage = lazy(async () => ({ default: await loadPage() }));
  return () => <Suspense fallback={<main id="main" aria-busy="true" />}>{createElement(LoadedPage)}</Suspense>;
}

const Audit = lazyPage(async () => (await import('./pages/audit.js')).Audit);
const Data = lazyPage(async () => (await import('./pages/data.js')).Data);
const Engine = lazyPage(async () => (await import('./pages/engine.js')).Engine);
const GrantDraft = lazyPage(async () => (await import('./pages/grants.js')).GrantDraft);
const GroupPage = lazyPage(async () => (await import('./pages/group.js')).GroupPage);
const Groups = lazyPage(async () => (await import('./pages/groups.js')).Groups);
const GuaranteePage = lazyPage(async () => (await import('./pages/guarantee.js')).GuaranteePage);
const Guarantees = lazyPage(async () => (await import('./pages/guarantees.js')).Guarantees);
const Grants = lazyPage(async () => (await import('./pages/grants.js')).Grants);
const MyAccess = lazyPage(async () => (await import('./pages/my-access.js')).MyAccess);
const People = lazyPage(async () => (await import('./pages/people.js')).People);
const Person = lazyPage(async () => (await import('./pages/person.js')).Person);
const Policies = lazyPage(async () => (await import('./pages/policies.js')).Policies);
const PolicyPage = lazyPage(async () => (await import('./pages/policies.js')).PolicyPage);
const PublicationPage = lazyPage(async () => (await import('./pages/publication.js')).PublicationPage);
const Publications = lazyPage(async () => (await import('./pages/publications.js')).Publications);
const Sql = lazyPage(async () => (await import('./pages/sql.js')).Sql);
const Why = lazyPage(async () => (await import('./pages/why.js')).Why);

/** Every page, in the order of the navigation. */
export const PAGES: readonly Page[] = [
  { name: 'My access', icon: 'me', section: 'own', isForEverybody: true, routes: { '/me': MyAccess } },
  { name: 'SQL', icon: 'sql', section: 'own', isForEverybody: true, routes: { '/sql': Sql } },
  {
    name: 'Data',
    icon: 'root',
    section: 'access',
    routes: {
      '/data': Data,
      '/data/:catalog': Data,
      '/data/:catalog/:schema': Data,
      '/data/:catalog/:schema/:table': Data,
    },
  },
  { name: 'People', icon: 'person', section: 'access', routes: { '/people': People, '/people/:id': Person } },
  { name: 'Groups', icon: 'group', section: 'access', routes: { '/groups': Groups, '/groups/:id': GroupPage } },
  { name: 'Grants', icon: 'grant', section: 'access', routes: { '/grants': Grants, '/grants/new': GrantDraft } },
  {
    name: 'Policies',
    icon: 'policy',
    section: 'access',
    routes: { '/policies': Policies, '/policies/:id': PolicyPage },
  },
  {
    name: 'Guarantees',
    icon: 'guarantee',
    section: 'access',
    routes: { '/guarantees': Guarantees, '/guarantees/:id': GuaranteePage },
  },
  { name: 'Why', icon: 'info', section: 'access', isForEverybody: true, routes: { '/why': Why } },
  { name: 'Engine', icon: 'gear', section: 'access', routes: { '/engine': Engine } },
  {
    name: 'Publications',
    icon: 'publication',
    section: 'history',
    routes: { '/publications': Publications, '/publications/:version': PublicationPage },
  },
  { name: 'Audit', icon: 'audit', section: 'history', routes: { '/audit': Audit } },
];

export function hrefOf({ routes }: Page): string {
  return Object.keys(routes)[0] ?? '/';
}
