import { QueryClientProvider } from '@tanstack/react-query';
import { Redirect, useLocation } from 'wouter';
import { queries, useStart } from './api/session.js';
import { Frame } from './frame.js';
import { SignIn } from './pages/sign-in.js';
import { useAddress } from './parts/address.js';
import { Failure } from './parts/notice.js';

export function App() {
  return (
    <QueryClientProvider client={queries}>
      <Gate />
    </QueryClientProvider>
  );
}

/** Redirects people who are not signed in to the sign-in page, and from there back to the requested page. */
function Gate() {
  const start = useStart();
  const [path] = useLocation();
  const { search } = useAddress();
  if (start.isError && start.data === undefined) {
    return (
      <main className="stack">
        <h1>Grantline</h1>
        <Failure problem={start.error} retry={() => void start.refetch()} />
      </main>
    );
  }
  if (start.data === undefined) return null;
  const { account, has_administrator: hasAdministrator } = start.data;
  if (account !== null) {
    return path === '/sign-in' ? <Redirect to={safeAddress(search.get('to'))} replace /> : <Frame />;
  }
  if (path === '/sign-in') return <SignIn isFirst={!hasAdministrator} />;
  // The browser's path, because the router decodes its own.
  return <Redirect to={`/sign-in?to=${encodeURIComponent(location.pathname + location.search)}`} replace />;
}

/** An address of this site, by the rule of the service: `//host`, `/\host` and `/<tab>/host` lead to another host. */
function safeAddress(to: string | null): string {
  return to !== null && /^\/([!-.0-[\]-~][!-~]*)?$/.test(to) ? to : '/';
}
