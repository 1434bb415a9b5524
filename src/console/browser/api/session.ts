import { QueryCache, QueryClient, MutationCache, useQuery } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { api, bodyOf, Problem, type Schemas } from './client.js';

/** What stops the page until the person acts: the session has ended, or its one-time password must be changed. */
export type Interruption = 'ended' | 'password-change' | null;

let interruption: Interruption = null;
const listeners = new Set<() => void>();

export function interrupt(by: Interruption): void {
  interruption = by;
  for (const listener of listeners) listener();
}

export function useInterruption(): Interruption {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => interruption,
  );
}

/** Whatever was asked: who has to sign in again or to change a password is told so over the page, which stays with all that was typed in it. */
export function noticeInterruption(error: Error): void {
  if (!(error instanceof Problem)) return;
  if (error.code === 'password_change_required') interrupt('password-change');
  else if (error.status === 401 && error.code !== 'invalid_credentials' && isSignedIn()) {
    interrupt('ended');
  } else if (error.code === 'administrator_required') void refreshStart(); // somebody took the role away meanwhile
}

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: noticeInterruption }),
  mutationCache: new MutationCache({ onError: noticeInterruption }),
  defaultOptions: {
    queries: {
      // Of another tab, or of a page that somebody has left: the service may still be at work on it.
      retry: (failures, problem) => problem instanceof Problem && problem.status === 429 && failures < 3,
      staleTime: 10_000,
    },
    mutations: { retry: false },
  },
});

const START = ['start'];

/** Who is signed in, and whether anybody can grant anything. */
export function useStart() {
  return useQuery({
    queryKey: START,
    staleTime: Infinity,
    queryFn: () => bodyOf(api.GET('/api/auth/console-session')),
    refetchInterval: ({ state }) => (state.data?.has_administrator === false ? 3_000 : false),
  });
}

/** Where people sign in besides here. */
export function useProvider() {
  return useQuery({
    queryKey: ['provider'],
    staleTime: Infinity,
    queryFn: () => bodyOf(api.GET('/api/auth/oidc')),
  });
}

/**
 * Another tab may have ended the session of this page, or begun one of somebody else under whose name this page would act: that
 * is noticed as soon as somebody comes back to it.
 */
export function useOwnSession(id: number): void {
  useEffect(() => {
    const look = async (): Promise<void> => {
      const { account } = await bodyOf(api.GET('/api/auth/console-session'));
      if (account?.id !== id) interrupt('ended');
      else if (interruption === 'ended') {
        interrupt(null);
        await queries.invalidateQueries();
      }
    };
    const listener = (): void => void look().catch(() => undefined);
    window.addEventListener('focus', listener);
    return () => window.removeEventListener('focus', listener);
  }, [id]);
}

/** Whether somebody is, as far as this page knows. */
export function isSignedIn(): boolean {
  return (queries.getQueryData<Schemas['ConsoleStartResponse']>(START)?.account ?? null) !== null;
}

export async function signIn(credentials: { username: string; password: string }): Promise<void> {
  await bodyOf(api.POST('/api/auth/console-session', { body: credentials }));
  await queries.invalidateQueries();
}

/** Asks again whether the person has proved lately who it is. */
export function refreshStart(): Promise<void> {
  return queries.invalidateQueries({ queryKey: START });
}

/** Gives the password once more, before what asks for a proof. */
export async function confirmByPassword(password: string): Promise<void> {
  await bodyOf(api.POST('/api/auth/console-session/confirm', { body: { password } }));
}

/** The next question needs no proof, unless it comes some minutes later. */
export function noteConfirmed(): void {
  queries.setQueryData<Schemas['ConsoleStartResponse']>(
    START,
    (start) => start && { ...start, account: start.account && { ...start.account, is_confirmed: true } },
  );
}

/** Leaves for the identity provider. @param to the address to come back to */
export async function confirmAtProvider(to: string): Promise<void> {
  const { confirm_url: url } = await bodyOf(api.POST('/api/auth/oidc/confirm', { body: { to } }));
  location.assign(url);
}

/** Leaves for the identity provider, to say who one is there. */
export async function linkAtProvider(password: string): Promise<void> {
  const { link_url: url } = await bodyOf(api.POST('/api/auth/oidc/link', { body: { current_password: password } }));
  location.assign(url);
}

/** Ends the session, and forgets all that this page has read. One that began at the provider ends there, too. */
export async function signOut(): Promise<void> {
  const elsewhere = await bodyOf(api.DELETE('/api/auth/console-session'));
  queries.setQueryData<Schemas['ConsoleStartResponse']>(START, (start) => start && { ...start, account: null });
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== START[0] });
  if (elsewhere !== undefined) location.assign(elsewhere.sign_out_url);
}
