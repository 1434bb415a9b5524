import { useQueries } from '@tanstack/react-query';
import { Link } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { grantAddress } from '../domain/grant-form.js';
import { addressOfNode, pathText } from '../domain/node-path.js';
import { PRINCIPAL_KINDS, principalName } from '../domain/principal.js';
import type { Node } from '../domain/privileges.js';
import { takenBy } from '../domain/why-address.js';
import { Privileges } from './access.js';
import { Moment } from './moment.js';
import { Path } from './path.js';
import { addressOf, type Named, Shape } from './principal.js';
import type { ReactNode } from 'react';
import { Icon } from './icon.js';

export type Explanation = Schemas['ExplanationResponse'];
export type WayOfAnswer = Explanation['ways'][number];

interface ChainsProps {
  explanation: Explanation;
  principal: Named;
  node: Node;
  ways: readonly WayOfAnswer[];
  isOwn: boolean;
}

/** Every way as a line from the principal to the rule, shortest first, broken where it ends. */
export function Chains({ explanation, principal, node, ways, isOwn }: ChainsProps) {
  const grants = useGrants(isOwn ? [] : ways.flatMap(({ grant_id: id }) => id ?? []));
  return ways.map((way, at) => {
    const stations = stationsOf({ way, explanation, principal, node, isOwn, grant: grants.get(way.grant_id ?? -1) });
    const name = explanation.allowed ? 'How' : 'How far it goes';
    return (
      <Chain
        key={JSON.stringify(way)}
        name={at === 0 ? name : `${name}, way ${at + 1}`}
        stations={stations}
        missing={missingOf(way, stations)}
      />
    );
  });
}

type Grant = Schemas['GrantResponse'];

function useGrants(ids: readonly number[]): ReadonlyMap<number, Grant> {
  const answers = useQueries({
    queries: [...new Set(ids)].map((id) => ({
      queryKey: ['grant', id],
      queryFn: () => bodyOf(api.GET('/api/admin/grants/{id}', { params: { path: { id } } })),
    })),
  });
  return new Map(answers.flatMap(({ data }) => (data === undefined ? [] : [[data.id, data] as const])));
}

interface OneWay {
  way: WayOfAnswer;
  explanation: Explanation;
  principal: Named;
  node: Node;
  isOwn: boolean;
  grant: Grant | undefined;
}

function stationsOf({ way, explanation, principal, node, isOwn, grant }: OneWay): Station[] {
  const { group, grant_id: id, ends_at: end, node: named } = way;
  const href = isOwn ? undefined : addressOf(principal);
  const { rule, published } = explanation;
  const through = group === null ? { type: 'everyone' } : { type: 'group', name: group.name };
  return [
    {
      kind: PRINCIPAL_KINDS[principal.type] ?? 'Principal',
      of: principal,
      name: href === undefined ? principal.name : <Link href={href}>{principal.name}</Link>,
      facts: [
        ...(isOwn ? ['You'] : []),
        ...(end?.kind === 'inactive' ? ['deactivated'] : principal.type === 'user' ? ['active account'] : []),
      ],
    },
    ...(group === null && !way.is_for_everyone
      ? []
      : [
          {
            kind: 'Group',
            of: through,
            name:
              group === null || isOwn ? principalName(through) : <Link href={`/groups/${group.id}`}>{group.name}</Link>,
            facts: [end?.kind === 'not_a_member' ? 'not a member' : 'member'],
          },
        ]),
    {
      kind: 'Grant',
      of: { icon: 'grant' },
      name: id === null ? 'None' : isOwn ? `Grant ${id}` : <Link href={grantAddress(id)}>Grant {id}</Link>,
      facts: id === null ? ['Nothing here or on what is above'] : grantFacts(grant, end),
    },
    {
      kind: 'Node',
      of: { icon: iconOf(named) },
      name: isOwn ? (
        <Path node={named} />
      ) : (
        <Link href={addressOfNode(named)}>
          <Path node={named} />
        </Link>
      ),
      facts: pathText(named) === pathText(node) ? [] : [`covers ${pathText(node)}`],
    },
    {
      kind: 'Rule',
      of: { icon: 'rule' },
      name:
        rule === null ? (
          principal.type === 'group' ? (
            'Of its members'
          ) : published === null ? (
            'Not published'
          ) : (
            'No rule matches'
          )
        ) : isOwn || published === null ? (
          <RuleName rule={rule} />
        ) : (
          <Link href={`/publications/${published.version}`}>
            <RuleName rule={rule} />
          </Link>
        ),
      facts: [
        ...(end?.kind === 'denied' ? [takenBy(explanation.restrictions, node)] : []),
        ...(rule === null && published !== null ? ['closed by default'] : []),
        ...(published !== null
          ? [`version ${published.version}`]
          : principal.type === 'group'
            ? []
            : [explanation.allowed ? 'comes with the first publication' : 'nothing is published']),
      ],
    },
  ];
}

function RuleName({ rule: { section, index } }: { rule: NonNullable<Explanation['rule']> }) {
  return <span className="mono">{`${section}[${index}]`}</span>;
}

function iconOf(node: object): string {
  return 'table' in node ? 'table' : 'schema' in node ? 'schema' : 'catalog' in node ? 'catalog' : 'root';
}

function grantFacts(grant: Grant | undefined, end: WayOfAnswer['ends_at']): Station['facts'] {
  return [
    ...(grant === undefined
      ? []
      : [
          <Privileges key="may" names={grant.privileges} />,
          <>
            by {grant.granted_by?.name ?? 'the command line'}, <Moment at={grant.granted_at} />
          </>,
        ]),
    ...(end?.kind === 'expired' && end.expired_at !== undefined
      ? [
          <>
            ended <Moment at={end.expired_at} />
          </>,
        ]
      : grant === undefined
        ? []
        : grant.expires_at === null
          ? ['does not expire']
          : [
              <>
                until <Moment at={grant.expires_at} />
              </>,
            ]),
  ];
}

const MISSING: Record<NonNullable<WayOfAnswer['ends_at']>['kind'], string> = {
  inactive: '',
  not_a_member: 'Group',
  no_grant: 'Grant',
  expired: 'Grant',
  denied: 'Rule',
};

function missingOf({ ends_at: end }: WayOfAnswer, stations: readonly Station[]): number | null {
  if (end === null) return null;
  return Math.max(
    0,
    stations.findIndex(({ kind }) => kind === MISSING[end.kind]),
  );
}

/** A stop of the line: what kind of thing it is, its name or a link, and at most three facts. */
interface Station {
  kind: string;
  of: Named | { icon: string };
  name: ReactNode;
  facts: readonly ReactNode[];
}

/**
 * The line on which somebody comes to a privilege.
 * @param missing the station at which it breaks; null: it goes through
 */
function Chain({ name, stations, missing }: { name: string; stations: Station[]; missing: number | null }) {
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
