import type { ReactNode } from 'react';
import { Link } from 'wouter';

export interface Tab {
  name: string;
  /** The address that selects it. */
  href: string;
  /** Undefined: not known yet. */
  count?: string | undefined;
}

const idOf = (name: string): string => name.toLowerCase().replaceAll(/\W+/g, '-');

/** Links that change the address. The name of a tab is its word; the count describes it. */
export function Tabs({ label, tabs, selected }: { label: string; tabs: readonly Tab[]; selected: string }) {
  return (
    <div className="tabs" role="tablist" aria-label={label}>
      {tabs.map(({ name, href, count }) => {
        const id = idOf(name);
        return (
          <Link
            key={name}
            role="tab"
            id={`tab-${id}`}
            href={href}
            aria-selected={name === selected}
            aria-controls={name === selected ? id : undefined}
            aria-describedby={count === undefined ? undefined : `tab-${id}-count`}
          >
            {name}
            <span className="count" id={`tab-${id}-count`} aria-hidden="true">
              {count}
            </span>
          </Link>
        );
      })}
    </div>
  );
}

/** What the selected tab shows. */
export function TabPanel({ name, children }: { name: string; children: ReactNode }) {
  const id = idOf(name);
  return (
    <section className="stack stack--tight" role="tabpanel" id={id} aria-labelledby={`tab-${id}`}>
      {children}
    </section>
  );
}
