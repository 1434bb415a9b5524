import { type ReactNode, useEffect, useId, useSyncExternalStore } from 'react';
import { isProblem } from '../api/client.js';
import { ButtonLink } from './controls.js';
import { Failure } from './notice.js';

interface PageHeadProps {
  title: string;
  heading?: ReactNode;
  breadcrumbs?: ReactNode;
  intro?: ReactNode;
  actions?: ReactNode;
  /** Whether the children are a form. On phones the actions are below it. */
  isForm?: boolean;
  children?: ReactNode;
}

/** The head of a page, with its only `h1`. Also sets the title of the window. */
export function PageHead(props: PageHeadProps) {
  const { title, heading = title, breadcrumbs, intro, actions, isForm = false, children } = props;
  const areActionsBelow = useIsPhone() && isForm;
  const actionRow = actions && <div className="row">{actions}</div>;
  useTitle(title);
  return (
    <>
      <header className="page-head">
        <div>
          {breadcrumbs}
          <h1>{heading}</h1>
          {intro && <p>{intro}</p>}
        </div>
        {!areActionsBelow && actionRow}
      </header>
      {children}
      {areActionsBelow && actionRow}
    </>
  );
}

const PHONE_MEDIA_QUERY = matchMedia('(max-width: 48rem)');

function useIsPhone(): boolean {
  return useSyncExternalStore(
    (listener) => {
      PHONE_MEDIA_QUERY.addEventListener('change', listener);
      return () => PHONE_MEDIA_QUERY.removeEventListener('change', listener);
    },
    () => PHONE_MEDIA_QUERY.matches,
  );
}

interface PageProps extends PageHeadProps {
  isCompact?: boolean;
  isBusy?: boolean;
}

export function Page({ isCompact = false, isBusy, ...headProps }: PageProps) {
  return (
    <main id="main" aria-busy={isBusy} tabIndex={-1}>
      <div className={isCompact ? 'stack stack--mid' : 'stack'}>
        <PageHead {...headProps} />
      </div>
    </main>
  );
}

interface EntryPageProps<T> {
  title: string;
  query: { data: T | undefined; error: Error | null; refetch: () => unknown };
  children: (entry: T) => ReactNode;
}

/** The page of one entry, such as a policy, or the failure to read it. */
export function EntryPage<T>({ title, query: { data, error, refetch }, children }: EntryPageProps<T>) {
  if (isProblem(error, 404)) return <NotFoundPage />;
  if (data !== undefined) return children(data);
  return (
    <Page title={title} isBusy={error === null}>
      {error !== null && <Failure problem={error} retry={() => void refetch()} />}
    </Page>
  );
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Grantline`;
  }, [title]);
}

interface EmptyStateProps {
  title: string;
  isWholePage?: boolean;
  text: ReactNode;
  action?: ReactNode;
}

/** Shown in place of a list without entries: what is missing, why, and what to do next. */
export function EmptyState({ title, isWholePage = false, text, action }: EmptyStateProps) {
  const Heading = isWholePage ? 'h1' : 'h2';
  return (
    <div className="empty">
      <svg viewBox="0 0 112 32" aria-hidden="true">
        <path d="M12 16h30M70 16h30" strokeDasharray="3 5" />
        <circle cx="8" cy="16" r="6" />
        <circle cx="104" cy="16" r="6" />
      </svg>
      <Heading>{title}</Heading>
      <p>{text}</p>
      {action}
    </div>
  );
}

interface EmptyListProps extends Pick<EmptyStateProps, 'title' | 'text'> {
  suggestion?: ReactNode;
  filterValues: object;
  entryKind: string;
}

/** Shown in place of an empty list, or of one whose filters match nothing. */
export function EmptyList({ filterValues, entryKind, title, text, suggestion }: EmptyListProps) {
  if (Object.keys(filterValues).length === 0) return <EmptyState title={title} text={text} />;
  const advice = 'Remove a filter, or search for something else.';
  return <EmptyState title={`No ${entryKind} matches`} text={advice} action={suggestion} />;
}

/** Shown in place of a page for administrators to people who are no administrators. */
export function ForbiddenPage({ name }: { name: string }) {
  const text = `${name} is for administrators. What you may reach yourself is under My access.`;
  return <AbsentPage title="Not for you" text={text} />;
}

export function NotFoundPage() {
  const text = 'Its address may have been mistyped, or what it showed is gone.';
  return <AbsentPage title="There is no such page" text={text} />;
}

function AbsentPage(props: { title: string; text: string }) {
  useTitle(props.title);
  return (
    <main id="main" tabIndex={-1}>
      <EmptyState
        isWholePage
        {...props}
        action={
          <div className="row">
            <ButtonLink text="Open what you may reach" href="/me" />
            <ButtonLink text="Ask why" href="/why" />
          </div>
        }
      />
    </main>
  );
}

/** A name and its value, in a list of facts. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Placeholders for facts that are being read. */
export function LoadingFacts({ names }: { names: readonly string[] }) {
  return (
    <dl className="facts">
      {names.map((name) => (
        <Fact key={name} name={name}>
          <span className="skeleton skeleton--s" />
        </Fact>
      ))}
    </dl>
  );
}

interface RegionProps {
  title: string;
  count?: ReactNode;
  actions?: ReactNode;
  isTightStack?: boolean;
  children: ReactNode;
}

/** A part of a page, named by its heading. */
export function Region({ title, count, actions, isTightStack = false, children }: RegionProps) {
  const id = useId();
  return (
    <section className={isTightStack ? 'stack stack--tight' : undefined} aria-labelledby={id}>
      <div className="head">
        <h2 id={id}>{title}</h2>
        {count !== undefined && <span className="count">{count}</span>}
        {actions}
      </div>
      {children}
    </section>
  );
}
