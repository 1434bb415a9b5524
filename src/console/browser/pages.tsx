import { type ComponentType, createElement, lazy, Suspense } from 'react';

export interface Page {
  /** Its link in the navigation. */
  name: string;
  icon: string;
  section: 'own' | 'access' | 'history';
  /** Everybody may open it; the others are for administrators. */
  isOpen?: true;
  /** Components by address. The link of the page leads to the first one. */
  routes: Readonly<Record<string, ComponentType>>;
}

/** A page that is loaded when it is opened. The page before is gone while this one loads, and with it its timers. */
function later(load: () => Promise<ComponentType>): ComponentType {
  const Loaded = lazy(async () => ({ default: await load() }));
  return () => <Suspense fallback={<main id="main" aria-busy="true" />}>{createElement(Loaded)}</Suspense>;
}

const Audit = later(async () => (await import('./pages/audit.js')).Audit);
const Data = later(async () => (await import('./pages/data.js')).Data);
const Engine = later(async () => (await import('./pages/engine.js')).Engine);
const GrantDraft = later(async () => (await import('./pages/new-grant.js')).GrantDraft);
const GroupPage = later(async () => (await import('./pages/group.js')).GroupPage);
const Groups = later(async () => (await import('./pages/groups.js')).Groups);
const GuaranteePage = later(async () => (await import('./pages/guarantee.js')).GuaranteePage);
const Guarantees = later(async () => (await import('./pages/guarantees.js')).Guarantees);
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

/** Every page, in the order of the navigation. */
export const PAGES: readonly Page[] = [
  { name: 'My access', icon: 'me', section: 'own', isOpen: true, routes: { '/me': MyAccess } },
  { name: 'SQL', icon: 'sql', section: 'own', isOpen: true, routes: { '/sql': Sql } },
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
  { name: 'Why', icon: 'info', section: 'access', isOpen: true, routes: { '/why': Why } },
  { name: 'Engine', icon: 'gear', section: 'access', routes: { '/engine': Engine } },
  {
    name: 'Publications',
    icon: 'publication',
    section: 'history',
    routes: { '/publications': Publications, '/publications/:version': PublicationPage },
  },
  { name: 'Audit', icon: 'audit', section: 'history', routes: { '/audit': Audit } },
];

/** Where the link of a page leads. */
export function hrefOf({ routes }: Page): string {
  return Object.keys(routes)[0] ?? '/';
}
