import type { ReactNode } from 'react';
import { Icon } from './icon.js';
import { type Named, Shape } from './principal.js';

/** A stop of the line: what kind of thing it is, its name or a link, and at most three facts. */
export interface Station {
  kind: string;
  of: Named | { icon: string };
  name: ReactNode;
  facts: readonly ReactNode[];
}

/**
 * The line on which somebody comes to a privilege.
 * @param missing the station at which it breaks; null: it goes through
 */
export function Chain({ name, stations, missing }: { name: string; stations: Station[]; missing: number | null }) {
  return (
    <ol className="chain" aria-label={name}>
      {stations.map((station, at) => (
        <li key={station.kind} className={classOf(at, missing)}>
          {'icon' in station.of ? <Thing icon={station.of.icon} /> : <Shape of={station.of} />}
          <span className="label">{station.kind}</span>
          <strong>{station.name}</strong>
          {station.facts.map((fact, index) => (
            <p key={index}>{fact}</p>
          ))}
        </li>
      ))}
    </ol>
  );
}

function Thing({ icon }: { icon: string }) {
  return (
    <span className={`shape shape--${icon === 'rule' ? 'rule' : 'thing'}`} aria-hidden="true">
      <Icon name={icon} />
    </span>
  );
}

/** Dashed up to the missing station, grey behind it. */
function classOf(at: number, missing: number | null): string | undefined {
  if (missing === null || at < missing - 1) return undefined;
  if (at === missing - 1) return 'is-break';
  return at === missing ? 'is-missing is-off' : 'is-off';
}
