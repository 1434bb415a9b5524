import { Link } from 'wouter';
import { Empty, useTitle } from '../parts/page.js';

/** Of administrators alone. */
export function NotForYou({ page }: { page: string }) {
  return (
    <Absent title="Not for you">{page} is for administrators. What you may reach yourself is under My access.</Absent>
  );
}

export function NotHere() {
  return <Absent title="Nothing is at this address">It may have been mistyped, or what it showed is gone.</Absent>;
}

function Absent({ title, children }: { title: string; children: string | string[] }) {
  useTitle(title);
  return (
    <main id="main" tabIndex={-1}>
      <Empty
        isWhole
        title={title}
        action={
          <Link className="button" href="/me">
            Open what you may reach
          </Link>
        }
      >
        {children}
      </Empty>
    </main>
  );
}
