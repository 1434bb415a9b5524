import { type ReactNode, useEffect, useId } from 'react';

/** The head of a page: its one heading of level 1, and the title of the window. */
export function PageHead({
  title,
  heading = title,
  above,
  children,
  actions,
}: {
  title: string;
  heading?: ReactNode;
  /** Crumbs. */
  above?: ReactNode;
  children?: ReactNode;
  actions?: ReactNode;
}) {
  useTitle(title);
  return (
    <header className="page-head">
      <div>
        {above}
        <h1>{heading}</h1>
        {children !== undefined && <p>{children}</p>}
      </div>
      {actions !== undefined && <div className="row">{actions}</div>}
    </header>
  );
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Grantline`;
  }, [title]);
}

/** Nothing to show: what is not there, why, and what to do next. */
export function Empty({
  title,
  isWhole = false,
  children,
  action,
}: {
  title: string;
  /** There is nothing else on the page. */
  isWhole?: boolean;
  children: ReactNode;
  action?: ReactNode;
}) {
  const Heading = isWhole ? 'h1' : 'h2';
  return (
    <div className="empty">
      <svg viewBox="0 0 112 32" aria-hidden="true">
        <path d="M12 16h30M70 16h30" strokeDasharray="3 5" />
        <circle cx="8" cy="16" r="6" />
        <circle cx="104" cy="16" r="6" />
      </svg>
      <Heading>{title}</Heading>
      <p>{children}</p>
      {action}
    </div>
  );
}

/** A name and what it is, in a list of facts. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

interface RegionProps {
  title: string;
  /** Beside the title: how many. */
  count?: ReactNode;
  /** At the far end of the head. */
  actions?: ReactNode;
  isStack?: boolean;
  children: ReactNode;
}

/** A part of a page under a heading of its own, whose name it has. */
export function Region({ title, count, actions, isStack = false, children }: RegionProps) {
  const id = useId();
  return (
    <section className={isStack ? 'stack stack--tight' : undefined} aria-labelledby={id}>
      <div className="head">
        <h2 id={id}>{title}</h2>
        {count !== undefined && <span className="count">{count}</span>}
        {actions}
      </div>
      {children}
    </section>
  );
}
