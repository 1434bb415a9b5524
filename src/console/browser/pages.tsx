import type { ReactNode } from 'react';
import type { Schemas } from './api/client.js';
import { MyAccess } from './pages/my-access.js';

export interface Page {
  /** Its link in the navigation. */
  name: string;
  icon: string;
  section: 'own' | 'access' | 'history';
  /** The first is where its link leads. */
  paths: readonly string[];
  /** To everybody; the others to administrators alone. */
  isOpen?: true;
  show: (me: Schemas['ConsoleAccountResponse']) => ReactNode;
}

/** Every page, in the order of the navigation. */
export const PAGES: readonly Page[] = [
  { name: 'My access', icon: 'me', section: 'own', paths: ['/me'], isOpen: true, show: () => <MyAccess /> },
];
