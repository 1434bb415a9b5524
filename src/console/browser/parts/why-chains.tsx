import { useQueries, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { newGrantAddress, grantAddress, type Node, nodeFormOf } from '../domain/grant-form.js';
import { addressOfNode, pathText } from '../domain/node-path.js';
import { addressOfPolicy, type PolicyKind, NEW_POLICY } from '../domain/policy-form.js';
import { PRINCIPAL_KINDS, principalName, principalParameter } from '../domain/principal.js';
import {
  isAboutSeveralPeople,
  requestText,
  restrictionText,
  stepSentence,
  whyAddressOfEntry,
  type WhyQuestion,
} from '../domain/why-address.js';
import { ButtonLink, CopyButton, Icon } from './controls.js';
import { addressOf, Moment, type PrincipalRef, Path, Privileges, PrincipalIcon } from './display.js';
import { Region } from './page.js';
import { Sentence } from './sentence.js';

export type Explanation = Schemas['ExplanationResponse'];
export type ExplainedWay = Explanation['ways'][number];

/** Reads why a principal (null: the signed-in person) has a privilege on a node, or not. */
export function useExplanation({ principal, privilege, node }: WhyQuestion, isSelf: boolean) {
  const { as, queries, ...names } = node;
  const query = {
    ...names,
    ...(as !== undefined && { as: principalParameter(as) }),
    ...(queries !== undefined && { queries: principalParameter(queries) }),
    privilege,
  };
  const principalText = isSelf || principal === null ? null : principalParameter(principal);
  return useQuery({
    queryKey: ['explanation', principalText ?? 'self', query],
    enabled: isSelf || principalText !== null,
    queryFn: () =>
      principalText === null
        ? bodyOf(api.GET('/api/access/explain', { params: { query } }))
        : bodyOf(api.GET('/api/admin/access/explain', { params: { query: { ...query, principal: principalText } } })),
  });
}

interface ChainsProps {
  explanation: Explanation;
  principal: PrincipalRef;
  node: Node;
  ways: readonly ExplainedWay[];
  isSelf: boolean;
}

/** Chains (principal, group, grant, rule) that explain the access, the shortest first. An incomplete chain shows the missing element. */
export function Chains({ explanation, principal, node, ways, isSelf }: ChainsProps) {
  const grants = useGrants(isSelf ? [] : ways.flatMap(({ grant_id: id }) => id ?? []));
  return ways.map((way, index) => {
    const grant = grants.get(way.grant_id ?? -1);
    const elements = chainElements({ way, explanation, principal, node, isSelf, grant });
    const chainTitle = explanation.allowed ? 'How' : 'How far it goes';
    return (
      <Chain
        key={JSON.stringify(way)}
        name={index === 0 ? chainTitle : `${chainTitle}, way ${index + 1}`}
        elements={elements}
        breakIndex={breakIndexOf(way, elements)}
      />
    );
  });
}

type Grant = Schemas['GrantResponse'];

function useGrants(ids: readonly number[]): ReadonlyMap<number, Grant> {
  const grantQueries = useQueries({
    queries: [...new Set(ids)].map((id) => ({
      queryKey: ['grant', id],
      queryFn: () => bodyOf(api.GET('/api/admin/grants/{id}', { params: { path: { id } } })),
    })),
  });
  return new Map(grantQueries.flatMap(({ data }) => (data === undefined ? [] : [[data.id, data] as const])));
}

interface ChainInput extends Omit<ChainsProps, 'ways'> {
  way: ExplainedWay;
  grant: Grant | undefined;
}

function chainElements({ way, explanation, principal, node, isSelf, grant }: ChainInput): ChainElement[] {
  const { group, grant_id: grantId, ends_at: gap, node: grantedNode, is_for_everyone: isForEveryone } = way;
  const { allowed, rule, published } = explanation;
  /** A name, as a link for administrators only: people who ask about themselves may not open the page of the link. */
  const linkForAdministrators = (name: ReactNode, href: string | undefined): ReactNode =>
    isSelf || href === undefined ? name : <Link href={href}>{name}</Link>;
  const personElement: ChainElement = {
    kind: PRINCIPAL_KINDS[principal.type] ?? 'Principal',
    symbol: principal,
    name: linkForAdministrators(principal.name, addressOf(principal)),
    facts: [isSelf && 'You', gap?.kind === 'inactive' ? 'deactivated' : principal.type === 'user' && 'active account'],
  };
  const throughPrincipal: PrincipalRef =
    group === null ? { type: 'everyone' } : { type: 'group', id: group.id, name: group.name };
  const groupElement: ChainElement = {
    kind: 'Group',
    symbol: throughPrincipal,
    name: linkForAdministrators(principalName(throughPrincipal), addressOf(throughPrincipal)),
    facts: [gap?.kind === 'not_a_member' ? 'not a member' : 'member'],
  };
  const isGroup = principal.type === 'group';
  const noRuleText = isGroup ? 'Of its members' : published === null ? 'Not published' : 'No rule matches';
  const unpublishedText = allowed ? 'comes with the first publication' : 'nothing is published';
  return [
    personElement,
    ...(group === null && !isForEveryone ? [] : [groupElement]),
    {
      kind: 'Grant',
      symbol: { icon: 'grant' },
      name: grantId === null ? 'None' : linkForAdministrators(`Grant ${grantId}`, grantAddress(grantId)),
      facts: grantId === null ? ['Nothing here or on what is above'] : grantFacts(grant, gap),
    },
    {
      kind: 'Node',
      symbol: { icon: iconOfNode(grantedNode) },
      name: linkForAdministrators(<Path node={grantedNode} />, addressOfNode(grantedNode)),
      facts: [pathText(grantedNode) !== pathText(node) && `covers ${pathText(node)}`],
    },
    {
      kind: 'Rule',
      symbol: { icon: 'rule' },
      name:
        rule === null
          ? noRuleText
          : linkForAdministrators(
              <span className="mono">{`${rule.section}[${rule.index}]`}</span>,
              published === null ? undefined : `/publications/${published.version}`,
            ),
      facts: [
        gap?.kind === 'denied' && restrictionText(explanation.restrictions, node),
        rule === null && published !== null && 'closed by default',
        published !== null ? `version ${published.version}` : !isGroup && unpublishedText,
      ],
    },
  ];
}

function iconOfNode(node: object): string {
  return ['table', 'schema', 'catalog'].find((level) => level in node) ?? 'root';
}

function grantFacts(grant: Grant | undefined, gap: ExplainedWay['ends_at']): ChainElement['facts'] {
  const expiredAt = gap?.kind === 'expired' ? gap.expired_at : undefined;
  const expiresAt = expiredAt ?? grant?.expires_at;
  return [
    grant && <Privileges names={grant.privileges} />,
    grant && (
      <>
        by {grant.granted_by?.name ?? 'the command line'}, <Moment time={grant.granted_at} />
      </>
    ),
    expiresAt === null && 'does not expire',
    typeof expiresAt === 'string' && (
      <>
        {expiredAt === undefined ? 'until' : 'ended'} <Moment time={expiresAt} />
      </>
    ),
  ];
}

const BREAK_ELEMENTS: Record<NonNullable<ExplainedWay['ends_at']>['kind'], string> = {
  inactive: '',
  not_a_member: 'Group',
  no_grant: 'Grant',
  expired: 'Grant',
  denied: 'Rule',
};

function breakIndexOf({ ends_at: gap }: ExplainedWay, elements: readonly ChainElement[]): number | null {
  if (gap === null) return null;
  return Math.max(
    0,
    elements.findIndex(({ kind }) => kind === BREAK_ELEMENTS[gap.kind]),
  );
}

interface ChainElement {
  kind: string;
  symbol: PrincipalRef | { icon: string };
  name: ReactNode;
  facts: readonly ReactNode[];
}

/**
 * The elements, such as a group and a grant, that lead from a principal to the deciding rule.
 * @param breakIndex index of the first missing element; null: no element is missing
 */
function Chain({ name, elements, breakIndex }: { name: string; elements: ChainElement[]; breakIndex: number | null }) {
  return (
    <ol className="chain" aria-label={name}>
      {elements.map((element, index) => (
        <li key={element.kind} className={elementClass(index, breakIndex)}>
          {'icon' in element.symbol ? (
            <span className={`shape shape--${element.symbol.icon === 'rule' ? 'rule' : 'thing'}`} aria-hidden="true">
              <Icon name={element.symbol.icon} />
            </span>
          ) : (
            <PrincipalIcon principal={element.symbol} />
          )}
          <span className="label">{element.kind}</span>
          <strong>{element.name}</strong>
          {element.facts.filter(Boolean).map((fact, index) => (
            <p key={index}>{fact}</p>
          ))}
        </li>
      ))}
    </ol>
  );
}

/** CSS class of a chain element. The line to the missing element is dashed; that element and all later ones are grey. */
function elementClass(index: number, breakIndex: number | null): string | undefined {
  if (breakIndex === null || index < breakIndex - 1) return undefined;
  if (index === breakIndex - 1) return 'is-break';
  return index === breakIndex ? 'is-missing is-off' : 'is-off';
}

function ChainSkeleton() {
  const skeletonBar = <span className="skeleton skeleton--s" />;
  const elements = ['Person', 'Group', 'Grant', 'Node', 'Rule'].map((kind) => ({
    ...{ kind, symbol: { icon: kind.toLowerCase() } },
    ...{ name: skeletonBar, facts: [skeletonBar, skeletonBar] },
  }));
  return <Chain name="Reading" elements={elements} breakIndex={null} />;
}

type Witness = Schemas['GuaranteeWitnessResponse'];
type HeldAccess = Pick<Witness, 'privilege' | 'resource'>;

/** One breach of a guarantee in words, and the chain to the access that somebody has or lacks. For the kind `apart`: two chains. */
export function Breach({ witness, guaranteeLink }: { witness: Witness; guaranteeLink?: ReactNode }) {
  const { message, resource, privilege, second, grants } = witness;
  const principal = witness.principal as PrincipalRef;
  const origins = grants.map((id) => ({ grant_id: id }));
  const heldAccess = [witness, second ?? []].flat().filter((access) => !isAboutSeveralPeople(access.resource as Node));
  const whyHref = whyAddressOfEntry(principal, { resource, privileges: [privilege], origins });
  return (
    <div className="outcome stack stack--tight">
      <p>
        {guaranteeLink} {message}. {whyHref !== null && <Link href={whyHref}>Why?</Link>}
      </p>
      {heldAccess.map((access, index) => (
        <FirstChain key={index} {...access} principal={principal} />
      ))}
    </div>
  );
}

function FirstChain({ principal, privilege, resource }: HeldAccess & { principal: PrincipalRef }) {
  const { column: _, ...node } = resource as Node & { column?: string };
  const { data, isError } = useExplanation({ principal, privilege, node }, false);
  if (isError) return null;
  if (data === undefined) return <ChainSkeleton />;
  return <Chains explanation={data} principal={principal} node={node} ways={data.ways.slice(0, 1)} isSelf={false} />;
}

type Step = Schemas['ChangeStepResponse'];

/**
 * An instruction: the smallest change that would give the privilege, or take it away if the principal has it.
 * @param props.asker the signed-in person, if the explanation is about that person; null: an administrator asks about anybody
 */
export function NearestChange({ explanation, asker }: { explanation: Explanation; asker: PrincipalRef | null }) {
  const { allowed, smallest_change: change } = explanation;
  return (
    <Region title="Nearest change">
      <div className="panel stack stack--tight">
        {change === null ? (
          <p>No grant and no policy turns this round.</p>
        ) : (
          change.steps.map((step) => (
            <div key={JSON.stringify(step)} className="stack stack--tight">
              <p className="prose">
                <Sentence parts={stepSentence(step, asker)} />
                {asker !== null && step.kind === 'grant' && ' An administrator can make it.'}
              </p>
              {asker === null && <div className="row">{stepLink(step)}</div>}
            </div>
          ))
        )}
        {change !== null && asker !== null && !allowed && (
          <div className="row">
            <CopyButton value={requestText(change.steps, asker)} text="Copy a request" />
          </div>
        )}
      </div>
    </Region>
  );
}

function stepLink({ kind, principal, resource = {}, privileges = [], policy_id: policyId, grant_id: grantId }: Step) {
  if (kind === 'revoke' && grantId !== undefined)
    return <ButtonLink text={`Revoke grant ${grantId}`} href={`${grantAddress(grantId)}&ask=revoke-${grantId}`} />;
  if (principal === undefined) return null;
  const key = principalParameter(principal);
  if (kind === 'except')
    return <ButtonLink text={`Change policy ${policyId}`} href={`/policies/${policyId}?excepting=${key}`} />;
  if (kind === 'activate')
    return <ButtonLink text="Activate the account" href={`${addressOf(principal)}?ask=activate`} />;
  const text = 'Preview this change';
  if (kind === 'grant') return <ButtonLink text={text} href={newGrantAddress(principal, privileges, resource)} />;
  const { column = '' } = resource as { column?: string };
  const form = { ...NEW_POLICY, ...nodeFormOf(resource), kind: kind as PolicyKind, principal, privileges, column };
  return <ButtonLink text={text} href={`/policies/new?${addressOfPolicy(form).toString()}`} />;
}
