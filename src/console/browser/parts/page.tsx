import { type ReactNode, useEffect, useId, useSyncExternalStore } from 'react';
import { isProblem } from '../api/client.js';
import { ButtonLink } from './controls.js';
import { Failure } from './notice.js';

interface PageHeadProps {
  title: string;
  heading?: ReactNode;
  /** Breadcrumbs. */
  above?: ReactNode;
  /** A sentence below the heading. */
  intro?: ReactNode;
  actions?: ReactNode;
}

/** The head of a page: its one heading of level 1, and the title of the window. */
export function PageHead({ title, heading = title, above, intro, actions }: PageHeadProps) {
  useTitle(title);
  return (
    <header className="page-head">
      <div>
        {above}
        <h1>{heading}</h1>
        {intro && <p>{intro}</p>}
      </div>
      {actions && <div className="row">{actions}</div>}
    </header>
  );
}

const PHONE = matchMedia('(max-width: 48rem)');

function usePhone(): boolean {
  return useSyncExternalStore(
    (listener) => {
      PHONE.addEventListener('change', listener);
      return () => PHONE.removeEventListener('change', listener);
    },
    () => PHONE.matches,
  );
}

interface HeadedProps extends PageHeadProps {
  /** On phones a form has its actions below it. */
  isForm?: boolean;
  children: ReactNode;
}

/** A heading and its content. */
export function Headed({ isForm = false, actions, children, ...head }: HeadedProps) {
  const isBelow = usePhone() && isForm;
  return (
    <>
      <PageHead {...head} actions={isBelow ? null : actions} />
      {children}
      {isBelow && <div className="row">{actions}</div>}
    </>
  );
}

interface PageProps extends HeadedProps {
  /** With small gaps between its parts. */
  isClose?: boolean;
  isBusy?: boolean;
}

/** A page of one column. */
export function Page({ isClose = false, isBusy, ...headed }: PageProps) {
  return (
    <main id="main" aria-busy={isBusy} tabIndex={-1}>
      <div className={isClose ? 'stack stack--mid' : 'stack'}>
        <Headed {...headed} />
      </div>
    </main>
  );
}

interface EntryPageProps<T> {
  /** Until it has been read. */
  title: string;
  query: { data: T | undefined; error: Error | null; refetch: () => unknown };
  children: (entry: T) => ReactNode;
}

/** The page of one entry, or why there is none. */
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

interface EmptyProps {
  title: string;
  /** There is nothing else on the page. */
  isWhole?: boolean;
  text: ReactNode;
  action?: ReactNode;
}

/** Shown in place of a list without entries: what is missing, why, and what to do next. */
export function Empty({ title, isWhole = false, text, action }: EmptyProps) {
  const Heading = isWhole ? 'h1' : 'h2';
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

interface NoEntryProps extends Pick<EmptyProps, 'title' | 'text'> {
  /** Shown where filters match nothing. */
  instead?: ReactNode;
  /** The filters of the list. */
  asked: object;
  word: string;
}

/** Shown in place of an empty list, or of one whose filters match nothing. */
export function NoEntry({ asked, word, title, text, instead }: NoEntryProps) {
  if (Object.keys(asked).length === 0) return <Empty title={title} text={text} />;
  const other = 'Remove a filter, or search for something else.';
  return <Empty title={`No ${word} matches`} text={other} action={instead} />;
}

/** Shown to other people in place of a page for administrators. */
export function AdministratorsOnlyPage({ page }: { page: string }) {
  const text = `${page} is for administrators. What you may reach yourself is under My access.`;
  return <Absent title="Not for you" text={text} />;
}

export function NotFoundPage() {
  return <Absent title="There is no such page" text="Its address may have been mistyped, or what it showed is gone." />;
}

function Absent(props: { title: string; text: string }) {
  useTitle(props.title);
  return (
    <main id="main" tabIndex={-1}>
      <Empty
        isWhole
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

/** Facts that are still being read. */
export function UnknownFacts({ names }: { names: readonly string[] }) {
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
  /** Beside the title: how many. */
  count?: ReactNode;
  /** At the far end of the head. */
  actions?: ReactNode;
  isStack?: boolean;
  children: ReactNode;
}

/** A part of a page, named by its heading. */
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
