import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { addressOfGrant, grantAddress, type Node, placeOfNode } from '../domain/grant-form.js';
import { addressOfNode, pathText } from '../domain/node-path.js';
import { addressOfPolicy, type Kind, NEW_POLICY } from '../domain/policy-form.js';
import { PRINCIPAL_KINDS, principalName, principalParameter } from '../domain/principal.js';
import { isOfSeveral, restrictionText, whyOfEntry, type WhyQuestion } from '../domain/why-address.js';
import { ButtonLink, CopyButton, Icon } from './controls.js';
import { addressOf, Moment, type Named, Path, Principal, Privileges, Shape } from './display.js';
import { Region } from './page.js';

export type Explanation = Schemas['ExplanationResponse'];
export type WayOfAnswer = Explanation['ways'][number];

/** Why a principal, or the reader, has a privilege on a node, or not. */
export function useExplanation({ principal, privilege, node }: WhyQuestion, isOwn: boolean) {
  const { as, queries, ...names } = node;
  const query = {
    ...names,
    ...(as !== undefined && { as: principalParameter(as) }),
    ...(queries !== undefined && { queries: principalParameter(queries) }),
    privilege,
  };
  const asked = isOwn || principal === null ? null : principalParameter(principal);
  return useQuery({
    queryKey: ['explanation', asked ?? 'self', query],
    enabled: isOwn || asked !== null,
    placeholderData: keepPreviousData,
    queryFn: () =>
      asked === null
        ? bodyOf(api.GET('/api/access/explain', { params: { query } }))
        : bodyOf(api.GET('/api/admin/access/explain', { params: { query: { ...query, principal: asked } } })),
  });
}

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

interface OneWay extends Omit<ChainsProps, 'ways'> {
  way: WayOfAnswer;
  grant: Grant | undefined;
}

function stationsOf({ way, explanation, principal, node, isOwn, grant }: OneWay): Station[] {
  const { group, grant_id: id, ends_at: end, node: named, is_for_everyone: isForEveryone } = way;
  const { allowed, rule, published } = explanation;
  /** People who ask about themselves cannot open the pages of the others. */
  const linked = (name: ReactNode, href: string | undefined): ReactNode =>
    isOwn || href === undefined ? name : <Link href={href}>{name}</Link>;
  const person: Station = {
    kind: PRINCIPAL_KINDS[principal.type] ?? 'Principal',
    of: principal,
    name: linked(principal.name, addressOf(principal)),
    facts: [isOwn && 'You', end?.kind === 'inactive' ? 'deactivated' : principal.type === 'user' && 'active account'],
  };
  const through: Named = group === null ? { type: 'everyone' } : { type: 'group', id: group.id, name: group.name };
  const members: Station = {
    kind: 'Group',
    of: through,
    name: linked(principalName(through), addressOf(through)),
    facts: [end?.kind === 'not_a_member' ? 'not a member' : 'member'],
  };
  const isOfGroup = principal.type === 'group';
  const noRule = isOfGroup ? 'Of its members' : published === null ? 'Not published' : 'No rule matches';
  const unpublished = allowed ? 'comes with the first publication' : 'nothing is published';
  return [
    person,
    ...(group === null && !isForEveryone ? [] : [members]),
    {
      kind: 'Grant',
      of: { icon: 'grant' },
      name: id === null ? 'None' : linked(`Grant ${id}`, grantAddress(id)),
      facts: id === null ? ['Nothing here or on what is above'] : grantFacts(grant, end),
    },
    {
      kind: 'Node',
      of: { icon: iconOf(named) },
      name: linked(<Path node={named} />, addressOfNode(named)),
      facts: [pathText(named) !== pathText(node) && `covers ${pathText(node)}`],
    },
    {
      kind: 'Rule',
      of: { icon: 'rule' },
      name:
        rule === null
          ? noRule
          : linked(
              <span className="mono">{`${rule.section}[${rule.index}]`}</span>,
              published === null ? undefined : `/publications/${published.version}`,
            ),
      facts: [
        end?.kind === 'denied' && restrictionText(explanation.restrictions, node),
        rule === null && published !== null && 'closed by default',
        published !== null ? `version ${published.version}` : !isOfGroup && unpublished,
      ],
    },
  ];
}

function iconOf(node: object): string {
  return ['table', 'schema', 'catalog'].find((level) => level in node) ?? 'root';
}

function grantFacts(grant: Grant | undefined, end: WayOfAnswer['ends_at']): Station['facts'] {
  const expired = end?.kind === 'expired' ? end.expired_at : undefined;
  const until = expired ?? grant?.expires_at;
  return [
    grant && <Privileges names={grant.privileges} />,
    grant && (
      <>
        by {grant.granted_by?.name ?? 'the command line'}, <Moment at={grant.granted_at} />
      </>
    ),
    until === null && 'does not expire',
    typeof until === 'string' && (
      <>
        {expired === undefined ? 'until' : 'ended'} <Moment at={until} />
      </>
    ),
  ];
}

const MISSING: Record<NonNullable<WayOfAnswer['ends_at']>['kind'], string> = {
  inactive: '',
  not_a_member: 'Group',
  no_grant: 'Grant',
  expired: 'Grant',
  denied: 'Rule',
};

/** The index of the station at which a way breaks; null: it goes through. */
function missingOf({ ends_at: end }: WayOfAnswer, stations: readonly Station[]): number | null {
  if (end === null) return null;
  const missing = stations.findIndex(({ kind }) => kind === MISSING[end.kind]);
  return Math.max(0, missing);
}

/** A stop of the line: its kind, its name or a link, and at most three facts. */
interface Station {
  kind: string;
  of: Named | { icon: string };
  name: ReactNode;
  /** Those that are false are left out. */
  facts: readonly ReactNode[];
}

/**
 * The line from a principal to a privilege.
 * @param missing the station at which it breaks; null: it goes through
 */
function Chain({ name, stations, missing }: { name: string; stations: Station[]; missing: number | null }) {
  return (
    <ol className="chain" aria-label={name}>
      {stations.map((station, at) => (
        <li key={station.kind} className={classOf(at, missing)}>
          {'icon' in station.of ? (
            <span className={`shape shape--${station.of.icon === 'rule' ? 'rule' : 'thing'}`} aria-hidden="true">
              <Icon name={station.of.icon} />
            </span>
          ) : (
            <Shape of={station.of} />
          )}
          <span className="label">{station.kind}</span>
          <strong>{station.name}</strong>
          {station.facts.filter(Boolean).map((fact, index) => (
            <p key={index}>{fact}</p>
          ))}
        </li>
      ))}
    </ol>
  );
}

/** Dashed up to the missing station, grey behind it. */
function classOf(at: number, missing: number | null): string | undefined {
  if (missing === null || at < missing - 1) return undefined;
  if (at === missing - 1) return 'is-break';
  return at === missing ? 'is-missing is-off' : 'is-off';
}

/** Takes the place of a chain that is being read. */
function ChainSkeleton() {
  const bar = <span className="skeleton skeleton--s" />;
  const stations = ['Person', 'Group', 'Grant', 'Node', 'Rule'].map((kind) => ({
    ...{ kind, of: { icon: kind.toLowerCase() } },
    ...{ name: bar, facts: [bar, bar] },
  }));
  return <Chain name="Reading" stations={stations} missing={null} />;
}

type Held = Pick<Schemas['GuaranteeWitnessResponse'], 'privilege' | 'resource'>;

/** One breach of a guarantee in words, and as the chain of what somebody has or lacks; of `apart` as both chains. */
export function Breach({ of, about }: { of: Schemas['GuaranteeWitnessResponse']; about?: ReactNode }) {
  const { message, resource, privilege, second, grants } = of;
  const principal = of.principal as Named;
  const origins = grants.map((id) => ({ grant_id: id }));
  const explained = [of, second ?? []].flat().filter((held) => !isOfSeveral(held.resource as Node));
  const why = whyOfEntry(principal, { resource, privileges: [privilege], origins });
  return (
    <div className="outcome stack stack--tight">
      <p>
        {about} {message}. {why !== null && <Link href={why}>Why?</Link>}
      </p>
      {explained.map((held, at) => (
        <FirstChain key={at} {...held} principal={principal} />
      ))}
    </div>
  );
}

/** The shortest way to a privilege, or the one that comes nearest. */
function FirstChain({ principal, privilege, resource }: Held & { principal: Named }) {
  const { column: _, ...node } = resource as Node & { column?: string };
  const { data, isError } = useExplanation({ principal, privilege, node }, false);
  if (isError) return null;
  if (data === undefined) return <ChainSkeleton />;
  return <Chains explanation={data} principal={principal} node={node} ways={data.ways.slice(0, 1)} isOwn={false} />;
}

type Step = Schemas['ChangeStepResponse'];

/** The smallest change that reverses the answer, as an order. */
export function NearestChange({ change, isOwn }: { change: Schemas['SmallestChangeResponse'] | null; isOwn: boolean }) {
  return (
    <Region title="Nearest change">
      <div className="panel stack stack--tight">
        {change === null ? (
          <p>No grant and no policy turns this round.</p>
        ) : (
          change.steps.map((step) => (
            <div key={JSON.stringify(step)} className="stack stack--tight">
              <p>
                <StepText step={step} isOwn={isOwn} />
              </p>
              {!isOwn && <StepLink step={step} />}
            </div>
          ))
        )}
        {change !== null && isOwn && (
          <div className="row">
            <CopyButton value={requestText(change.steps)} text="Copy a request" />
          </div>
        )}
      </div>
    </Region>
  );
}

function StepText({ step, isOwn }: { step: Step; isOwn: boolean }) {
  const { kind, principal, resource = {}, privileges = [] } = step;
  const who = isOwn || principal === undefined ? 'you' : <Principal of={principal} />;
  const where = <Path node={resource} />;
  switch (kind) {
    case 'grant':
      return (
        <>
          Grant <Privileges names={privileges} /> on {where} to {who}.{isOwn && ' An administrator can make it.'}
        </>
      );
    case 'revoke':
      return <>Revoke grant {step.grant_id}.</>;
    case 'except':
      return (
        <>
          Except {who} from policy {step.policy_id}.
        </>
      );
    case 'deny':
      return (
        <>
          Deny <Privileges names={privileges} /> on {where} for {who}.
        </>
      );
    case 'hidden_column':
      return (
        <>
          Hide column <code>{'column' in resource ? resource.column : ''}</code> of {where} from {who}.
        </>
      );
    case 'activate':
      return <>Activate the account of {who}.</>;
  }
}

/** A link to the page on which the step can be made, with its draft. */
function StepLink({ step }: { step: Step }) {
  const link = draftOf(step);
  if (link === null) return null;
  return (
    <div className="row">
      <ButtonLink text={link.text} href={link.href} />
    </div>
  );
}

function draftOf({ kind, principal, resource = {}, privileges = [], policy_id: policy, grant_id: grant }: Step) {
  if (kind === 'revoke' && grant !== undefined)
    return { href: `${grantAddress(grant)}&ask=revoke-${grant}`, text: `Revoke grant ${grant}` };
  if (principal === undefined) return null;
  const parameter = principalParameter(principal);
  if (kind === 'except') return { href: `/policies/${policy}?excepting=${parameter}`, text: `Change policy ${policy}` };
  if (kind === 'activate') return { href: `${addressOf(principal)}?ask=activate`, text: 'Activate the account' };
  const text = 'Preview this change';
  if (kind === 'grant') return { href: addressOfGrant(principal, privileges, resource), text };
  const { column = '' } = resource as { column?: string };
  const form = { ...NEW_POLICY, ...placeOfNode(resource), kind: kind as Kind, principal, privileges, column };
  return { href: `/policies/new?${addressOfPolicy(form).toString()}`, text };
}

/** A text that somebody without rights can send to an administrator. */
function requestText(steps: readonly Step[]): string {
  const texts = steps.map(
    ({ kind, privileges = [], resource = {} }) => `${kind} ${privileges.join(', ')} on ${pathText(resource)}`,
  );
  return `Please: ${texts.join('; ')}`;
}
