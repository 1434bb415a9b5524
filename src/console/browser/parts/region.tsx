import { type ReactNode, useId } from 'react';

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
