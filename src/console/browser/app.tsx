import { QueryClientProvider } from '@tanstack/react-query';
import { Redirect, useLocation, useSearchParams } from 'wouter';
import { queries, useStart } from './api/session.js';
import { Frame } from './frame.js';
import { SignIn } from './pages/sign-in.js';
import { Failure } from './parts/failure.js';

export function App() {
  return (
    <QueryClientProvider client={queries}>
      <Door />
    </QueryClientProvider>
  );
}

/** Who is not signed in signs in first, and then comes to where they wanted to go. */
function Door() {
  const start = useStart();
  const [path] = useLocation();
  const [search] = useSearchParams();
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
    return path === '/sign-in' ? <Redirect to={safeAddress(search.get('to'))} replace /> : <Frame me={account} />;
  }
  if (path === '/sign-in') return <SignIn isFirst={!hasAdministrator} />;
  return <Redirect to={`/sign-in?to=${encodeURIComponent(path + location.search)}`} replace />;
}

/** Only addresses of this site: `//host` and `/\host` are not. */
function safeAddress(to: string | null): string {
  // As the service takes one: parsers of addresses drop tabs, and `/<tab>/host` leads to another host.
  return to !== null && /^\/([!-.0-[\]-~][!-~]*)?$/.test(to) ? to : '/';
}
