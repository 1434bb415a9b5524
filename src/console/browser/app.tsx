import { QueryClientProvider } from '@tanstack/react-query';
import { Redirect, useLocation } from 'wouter';
import { queryClient, useConsoleStart } from './api/session.js';
import { Frame } from './frame.js';
import { SignIn } from './pages/sign-in.js';
import { useAddress } from './parts/address.js';
import { Failure } from './parts/notice.js';

export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <SignInGate />
    </QueryClientProvider>
  );
}

function SignInGate() {
  const startQuery = useConsoleStart();
  const [path] = useLocation();
  const { search } = useAddress();
  if (startQuery.isError && startQuery.data === undefined) {
    return (
      <main className="stack">
        <h1>Grantline</h1>
        <Failure problem={startQuery.error} retry={() => void startQuery.refetch()} />
      </main>
    );
  }
  if (startQuery.data === undefined) return null;
  const { account, has_administrator: hasAdministrator } = startQuery.data;
  if (account !== null) {
    return path === '/sign-in' ? <Redirect to={safeAddress(search.get('to'))} replace /> : <Frame />;
  }
  if (path === '/sign-in') return <SignIn isFirstStart={!hasAdministrator} />;
  // Uses location.pathname, because the router's path is already decoded.
  return <Redirect to={`/sign-in?to=${encodeURIComponent(location.pathname + location.search)}`} replace />;
}

/** The address if it is on this site, otherwise `/`. Browsers read `//host`, `/\host` and `/<tab>/host` as other hosts. The service applies the same rule. */
function safeAddress(address: string | null): string {
  return address !== null && /^\/([!-.0-[\]-~][!-~]*)?$/.test(address) ? address : '/';
}
