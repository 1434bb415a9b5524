import { QueryCache, QueryClient, MutationCache, useQuery } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { api, bodyOf, isProblem, type Schemas } from './client.js';

/** A state that blocks the page: the session has ended, or the account's one-time password must be changed. */
export type Interruption = 'ended' | 'password-change' | null;

const interruptionState = createSharedState<Interruption>(null);
export const { set: interrupt, use: useInterruption } = interruptionState;

/** A value that components share, with its setter and a hook that reads it. */
export function createSharedState<T>(value: T) {
  const listeners = new Set<() => void>();
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    get: () => value,
    set: (newValue: T): void => {
      value = newValue;
      for (const listener of listeners) listener();
    },
    use: () => useSyncExternalStore(subscribe, () => value),
  };
}

/** Opens the dialog for an interruption of the session, if an error reports one. The page below the dialog keeps all typed text. */
export function handleInterruption(error: Error): void {
  const reason = interruptionOf(error);
  if (reason !== null) interrupt(reason);
  else if (isProblem(error, 'administrator_required')) void refreshConsoleStart(); // another administrator has taken the role away
}

export function interruptionOf(error: Error): Interruption {
  if (isProblem(error, 'password_change_required')) return 'password-change';
  return isProblem(error, 401) && !isProblem(error, 'invalid_credentials') && isSignedIn() ? 'ended' : null;
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: handleInterruption }),
  mutationCache: new MutationCache({
    onError: (error) => {
      handleInterruption(error);
      // Somebody else has changed what the page shows.
      if (isProblem(error, 'precondition_failed')) void queryClient.invalidateQueries();
    },
  }),
  defaultOptions: {
    queries: {
      // Only 429 is retried. Its cause may be a request of another tab or of the previous page that is still running.
      retry: (failureCount, problem) => isProblem(problem, 429) && failureCount < 3,
      staleTime: 10_000,
      // A browser that says it is offline may still reach the service. Otherwise requests would wait, and show no failure.
      networkMode: 'always',
      refetchOnReconnect: true,
    },
    mutations: { retry: false, networkMode: 'always' },
  },
});

export type OwnAccount = Schemas['ConsoleAccountResponse'];
type ConsoleStart = Schemas['ConsoleStartResponse'];
const CONSOLE_START_KEY = ['start'];

/**
 * The signed-in account, and whether any administrator exists: without one, nothing can be granted. While the session has ended, or another
 * account is signed in, it is the account of this page, so that the page keeps all typed text.
 */
export function useConsoleStart() {
  return useQuery({
    queryKey: CONSOLE_START_KEY,
    staleTime: Infinity,
    queryFn: async () => {
      const start = await bodyOf(api.GET('/api/auth/console-session'));
      const pageAccount = queryClient.getQueryData<ConsoleStart>(CONSOLE_START_KEY)?.account ?? null;
      if (pageAccount === null || pageAccount.id === start.account?.id) return start;
      interrupt('ended');
      return { ...start, account: pageAccount };
    },
    refetchInterval: ({ state }) => (state.data?.has_administrator === false ? 3_000 : false),
  });
}

/** The account that pages see in the moment of a sign-out. */
const NOBODY: OwnAccount = { id: 0, username: '', role: 'user', has_password: false, is_confirmed: false };

/** The signed-in person. For use in pages only, because pages are shown only after a sign-in. */
export function useOwnAccount(): OwnAccount {
  return useConsoleStart().data?.account ?? NOBODY;
}

export function useIdentityProvider() {
  return useQuery({
    queryKey: ['provider'],
    staleTime: Infinity,
    queryFn: () => bodyOf(api.GET('/api/auth/oidc')),
  });
}

/** Closes the dialog for an interruption, or opens the one for another, and reads everything again. */
export async function resume(interruption: Interruption = null): Promise<void> {
  await queryClient.cancelQueries(); // late refusals of the old session would end the new one
  interrupt(interruption);
  await queryClient.invalidateQueries();
}

/**
 * Opens the dialog of an ended session, unless the account with this id is signed in. Requests of this page would act for another account.
 * @returns the account that is signed in; null: none is
 */
export async function checkSession(id: number): Promise<OwnAccount | null> {
  const { account } = await bodyOf(api.GET('/api/auth/console-session'));
  if (account?.id !== id) interrupt('ended');
  else if (interruptionState.get() === 'ended') await resume();
  return account;
}

/** Checks the session whenever the window gets the focus, because another tab may have ended it or signed in another account. */
export function useSessionCheck(id: number): void {
  useEffect(() => {
    const listener = (): void => void checkSession(id).catch(() => undefined);
    window.addEventListener('focus', listener);
    return () => window.removeEventListener('focus', listener);
  }, [id]);
}

/** Whether an account is signed in, by the last answer of the service. */
export function isSignedIn(): boolean {
  return (queryClient.getQueryData<ConsoleStart>(CONSOLE_START_KEY)?.account ?? null) !== null;
}

let oneTimePassword = '';

/** Returns the one-time password of the last sign-in, for the dialog that replaces it, and forgets it: a second call returns an empty text. */
export function takeOneTimePassword(): string {
  const password = oneTimePassword;
  oneTimePassword = '';
  return password;
}

export async function signIn(credentials: { username: string; password: string }): Promise<void> {
  await bodyOf(api.POST('/api/auth/console-session', { body: credentials }));
  const params = { query: { limit: 1 } };
  const result: unknown = await bodyOf(api.GET('/api/auth/sessions', { params })).catch((error: unknown) => error);
  oneTimePassword = isProblem(result, 'password_change_required') ? credentials.password : '';
  await resume(oneTimePassword === '' ? null : 'password-change');
}

/** Reloads the signed-in account, and whether its last proof of identity is recent enough. */
export function refreshConsoleStart(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: CONSOLE_START_KEY });
}

/** Opens the identity provider's sign-in. @param returnAddress the address to come back to */
export async function confirmAtProvider(returnAddress: string): Promise<void> {
  const { confirm_url: url } = await bodyOf(api.POST('/api/auth/oidc/confirm', { body: { to: returnAddress } }));
  location.assign(url);
}

/** Opens the identity provider's sign-in, which links the signed-in account to an account of the provider. */
export async function linkAtProvider(password: string): Promise<void> {
  const { link_url: url } = await bodyOf(api.POST('/api/auth/oidc/link', { body: { current_password: password } }));
  location.assign(url);
}

/** Ends the session and clears the cache of this page. If the person signed in at the identity provider, also signs out there. */
export async function signOut(): Promise<void> {
  const providerSignOut = await bodyOf(api.DELETE('/api/auth/console-session')).catch((problem: unknown) => {
    if (!isProblem(problem, 401)) throw problem; // 401: the session has ended already
  });
  interrupt(null);
  queryClient.setQueryData<ConsoleStart>(CONSOLE_START_KEY, (start) => start && { ...start, account: null });
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== CONSOLE_START_KEY[0] });
  if (providerSignOut === undefined) return;
  // OpenID Connect RP-Initiated Logout 1.0, section 3. The callback is an address that is registered at the provider.
  const { origin } = location;
  const parameters = { post_logout_redirect_uri: `${origin}/api/auth/oidc/callback`, state: 'signed-out' };
  location.assign(`${providerSignOut.sign_out_url}&${new URLSearchParams(parameters).toString()}`);
}
