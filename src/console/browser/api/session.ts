import { QueryCache, QueryClient, MutationCache, useQuery } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { api, bodyOf, isProblem, type Schemas } from './client.js';

/** A state that blocks the page: the session has ended, or its one-time password must be changed. */
export type Interruption = 'ended' | 'password-change' | null;

const interruption = sharedState<Interruption>(null);
export const { set: interrupt, use: useInterruption } = interruption;

/** A value outside of the components, and a hook that reads it. */
export function sharedState<T>(value: T) {
  const listeners = new Set<() => void>();
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    get: () => value,
    set: (next: T): void => {
      value = next;
      for (const listener of listeners) listener();
    },
    use: () => useSyncExternalStore(subscribe, () => value),
  };
}

/** Opens the dialog to sign in again, or to change the password, over the page, which keeps all typed text. */
export function noticeInterruption(error: Error): void {
  const reason = interruptionOf(error);
  if (reason !== null) interrupt(reason);
  else if (isProblem(error, 'administrator_required')) void refreshStart(); // somebody took the role away meanwhile
}

export function interruptionOf(error: Error): Interruption {
  if (isProblem(error, 'password_change_required')) return 'password-change';
  return isProblem(error, 401) && !isProblem(error, 'invalid_credentials') && isSignedIn() ? 'ended' : null;
}

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: noticeInterruption }),
  mutationCache: new MutationCache({ onError: noticeInterruption }),
  defaultOptions: {
    queries: {
      // The service may still work on a request of another tab, or of a page that was left.
      retry: (failures, problem) => isProblem(problem, 429) && failures < 3,
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

const NOBODY: Schemas['ConsoleAccountResponse'] = {
  id: 0,
  username: '',
  role: 'user',
  has_password: false,
  is_confirmed: false,
};

/** The person who is signed in; pages are shown to nobody else. */
export function useMe(): Schemas['ConsoleAccountResponse'] {
  return useStart().data?.account ?? NOBODY;
}

/** The identity provider, if there is one. */
export function useProvider() {
  return useQuery({
    queryKey: ['provider'],
    staleTime: Infinity,
    queryFn: () => bodyOf(api.GET('/api/auth/oidc')),
  });
}

/**
 * Checks the session whenever the window gets the focus. Another tab may have ended it, or begun one of another account, with
 * which this page would then act.
 */
export function useOwnSession(id: number): void {
  useEffect(() => {
    const look = async (): Promise<void> => {
      const { account } = await bodyOf(api.GET('/api/auth/console-session'));
      if (account?.id !== id) interrupt('ended');
      else if (interruption.get() === 'ended') {
        interrupt(null);
        await queries.invalidateQueries();
      }
    };
    const listener = (): void => void look().catch(() => undefined);
    window.addEventListener('focus', listener);
    return () => window.removeEventListener('focus', listener);
  }, [id]);
}

/** Whether somebody is signed in, as far as this page knows. */
export function isSignedIn(): boolean {
  return (queries.getQueryData<Schemas['ConsoleStartResponse']>(START)?.account ?? null) !== null;
}

let oneTimePassword = '';

/** Returns the one-time password of the last sign-in once, so that it need not be typed again. */
export function takeOneTimePassword(): string {
  const taken = oneTimePassword;
  oneTimePassword = '';
  return taken;
}

export async function signIn(credentials: { username: string; password: string }): Promise<void> {
  await bodyOf(api.POST('/api/auth/console-session', { body: credentials }));
  const refusal: unknown = await bodyOf(api.GET('/api/auth/sessions', { params: { query: { limit: 1 } } })).then(
    () => null,
    (error: unknown) => error,
  );
  oneTimePassword = isProblem(refusal, 'password_change_required') ? credentials.password : '';
  if (oneTimePassword !== '') interruption.set('password-change');
  await queries.invalidateQueries();
}

/** Reads again whether the last proof of identity is recent enough. */
export function refreshStart(): Promise<void> {
  return queries.invalidateQueries({ queryKey: START });
}

/** Gives the password again, before an act that asks for a proof. */
export async function confirmByPassword(password: string): Promise<void> {
  await bodyOf(api.POST('/api/auth/console-session/confirm', { body: { password } }));
}

/** Leaves for the identity provider. @param to the address to come back to */
export async function confirmAtProvider(to: string): Promise<void> {
  const { confirm_url: url } = await bodyOf(api.POST('/api/auth/oidc/confirm', { body: { to } }));
  location.assign(url);
}

/** Leaves for the identity provider, to link the account there. */
export async function linkAtProvider(password: string): Promise<void> {
  const { link_url: url } = await bodyOf(api.POST('/api/auth/oidc/link', { body: { current_password: password } }));
  location.assign(url);
}

/** Ends the session, at the provider as well if it began there, and forgets all that this page has read. */
export async function signOut(): Promise<void> {
  const elsewhere = await bodyOf(api.DELETE('/api/auth/console-session'));
  queries.setQueryData<Schemas['ConsoleStartResponse']>(START, (start) => start && { ...start, account: null });
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== START[0] });
  if (elsewhere === undefined) return;
  // OpenID Connect RP-Initiated Logout 1.0, section 3. The callback is an address that the provider knows.
  const { origin } = location;
  const back = { post_logout_redirect_uri: `${origin}/api/auth/oidc/callback`, state: 'signed-out' };
  location.assign(`${elsewhere.sign_out_url}&${new URLSearchParams(back).toString()}`);
}
