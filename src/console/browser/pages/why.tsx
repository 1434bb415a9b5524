import { useQueries, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { useOwnAccount } from '../api/session.js';
import { type Node, privilegesOn } from '../domain/grant-form.js';
import { momentText } from '../domain/moment-text.js';
import { nearestEntries, EMPTY_NAMES, pathText } from '../domain/node-path.js';
import { POLICY_KIND_NAMES, type Policy } from '../domain/policy-form.js';
import { type PrincipalRef, principalParameter } from '../domain/principal.js';
import {
  prepositionOf,
  questionFromAddress,
  restrictionText,
  type WhyQuestion,
  nodeWithPrincipalName,
} from '../domain/why-address.js';
import { now } from '../now.js';
import { useAddress, useDebounced } from '../parts/address.js';
import { Combobox, PrincipalCombobox, usePrincipalName } from '../parts/combobox.js';
import { Button, CopyButton, Icon } from '../parts/controls.js';
import { BreakableText, Path } from '../parts/display.js';
import { NodeComboboxes } from '../parts/node-fields.js';
import { Failure, Note } from '../parts/notice.js';
import { Region, useTitle } from '../parts/page.js';
import { PolicyEffect } from '../parts/entries.js';
import { type Column, PRIVILEGES_COLUMN, Table } from '../parts/table.js';
import { Chains, type Explanation, NearestChange, useExplanation, type ExplainedWay } from '../parts/why-chains.js';

/** The page that explains why somebody has a privilege on a node, or not. Only administrators can ask about other people. */
export function Why() {
  useTitle('Why');
  const account = useOwnAccount();
  const { search } = useAddress();
  const debouncedSearch = useDebounced(search.toString(), 150);
  const isAdministrator = account.role === 'admin';
  const ownPrincipal = { type: 'user', id: account.id, name: account.username };
  const question = questionFromAddress(new URLSearchParams(debouncedSearch));
  const principal = isAdministrator ? question.principal : ownPrincipal;
  const isAboutOthers =
    question.principal !== null && principalParameter(question.principal) !== principalParameter(ownPrincipal);
  const name = usePrincipalName(principal);
  const nodePrincipalName = usePrincipalName(question.node.as ?? question.node.queries ?? null);
  const { data, error, refetch } = useExplanation(question, !isAdministrator);
  return (
    <main id="main" tabIndex={-1}>
      <div className="stack">
        <QuestionForm isAdministrator={isAdministrator} />
        {error !== null ? (
          <>
            <h1>Why</h1>
            <Failure problem={error} retry={() => void refetch()} />
          </>
        ) : principal === null ? (
          <div>
            <h1>Why may somebody do something, or not?</h1>
            <p className="dim">Choose a person, a group or an engine principal, then what they may do, and where.</p>
          </div>
        ) : data === undefined ? (
          <>
            <h1>Why</h1>
            <p role="status">Reading why</p>
          </>
        ) : (
          <>
            {!isAdministrator && isAboutOthers && (
              <Note role="status">Only administrators see why about others. This answer is about you.</Note>
            )}
            <Answer
              explanation={data}
              question={{ ...question, node: nodeWithPrincipalName(question.node, nodePrincipalName) }}
              principal={{ ...principal, name }}
              isSelf={!isAdministrator}
            />
          </>
        )}
      </div>
    </main>
  );
}

function QuestionForm({ isAdministrator }: { isAdministrator: boolean }) {
  const { search, change } = useAddress();
  const { principal, privilege, node } = questionFromAddress(search);
  const name = usePrincipalName(isAdministrator ? principal : null);
  return (
    <form className="question" role="search" aria-label="Question" onSubmit={(event) => event.preventDefault()}>
      {isAdministrator && (
        <PrincipalCombobox
          value={principal && { ...principal, name }}
          excludedKinds={['everyone']}
          isHintHidden
          set={(value) => change({ principal: value === null ? '' : principalParameter(value) })}
        />
      )}
      <PrivilegeCombobox node={node} value={privilege} set={(value) => change({ privilege: value })} />
      <NodeComboboxes
        value={{ ...EMPTY_NAMES, ...node }}
        lastLevel={node.routine === undefined ? 'table' : 'routine'}
        set={({ catalog, schema, table, routine = '' }) =>
          change({ catalog, schema, table, routine, engine: '', as: '', queries: '' })
        }
      />
    </form>
  );
}

function PrivilegeCombobox({ node, value, set }: { node: Node; value: string; set: (value: string) => void }) {
  const [typedText, setTypedText] = useState<string | null>(null);
  const typedPart = (typedText ?? '').toUpperCase();
  const choices = privilegesOn(node).filter((name) => name.includes(typedPart));
  return (
    <Combobox
      label="Privilege"
      text={typedText ?? value}
      isMono
      isChoiceRequired
      choices={choices.map((name) => ({ key: name, text: name }))}
      setText={(text) => {
        const exactName = choices.find((name) => name === text.toUpperCase());
        setTypedText(exactName === undefined ? text : null);
        if (exactName !== undefined) set(exactName);
      }}
      choose={({ text }) => {
        setTypedText(null);
        set(text);
      }}
    />
  );
}

interface AnswerProps {
  explanation: Explanation;
  question: WhyQuestion;
  principal: PrincipalRef;
  isSelf: boolean;
}

function Answer({ explanation, question, principal, isSelf }: AnswerProps) {
  const { search, change } = useAddress();
  const { allowed, rule, ways } = explanation;
  const personText = isSelf ? 'You' : (principal.name ?? '');
  const shownWays = search.has('ways') ? ways : ways.slice(0, 3);
  return (
    <>
      <div className="answer" aria-live="polite">
        <span className={allowed ? 'verdict' : 'verdict verdict--no'} aria-hidden="true">
          <Icon name={allowed ? 'check' : 'cross'} />
        </span>
        <div>
          <h1>
            <b>{personText}</b> may {!allowed && <b>not </b>}
            <b>{question.privilege}</b> {prepositionOf(question.privilege)} <Path node={question.node} />
            {allowed ? allowedReasonText(ways) : `: ${refusedReasonText(explanation, question.node, isSelf)}`}.
          </h1>
          <p className="dim">{publishedText(explanation, principal)}</p>
        </div>
      </div>
      <Chains explanation={explanation} principal={principal} node={question.node} ways={shownWays} isSelf={isSelf} />
      {ways.length > shownWays.length && (
        <div className="row">
          <Button text={`Show all ${explanation.ways_in_all} ways`} onClick={() => change({ ways: 'all' }, true)} />
        </div>
      )}
      <div className="pair">
        {rule?.text !== undefined && rule.text !== null && (
          <div className="stack">
            <Region title="The rule that decides" actions={<CopyButton value={rule.text} look="small quiet" />}>
              <pre className="code" tabIndex={0} role="group" aria-label={`${rule.section}[${rule.index}]`}>
                <BreakableText text={rule.text} />
              </pre>
            </Region>
            <RestrictingPolicies policies={explanation.policies} isDenied={!allowed} />
          </div>
        )}
        <NearestChange explanation={explanation} asker={isSelf ? principal : null} />
        {isSelf && !allowed && <NearbyNodes node={question.node} />}
      </div>
    </>
  );
}

const POLICY_COLUMNS: readonly Column<Policy>[] = [
  { name: 'Policy', cell: ({ id }) => <Link href={`/policies/${id}`}>{id}</Link> },
  { name: 'Kind', cell: ({ kind }) => POLICY_KIND_NAMES[kind].toLowerCase() },
  {
    name: 'What',
    className: 'full',
    cell: (policy) => (
      <>
        {policy.kind === 'column_mask' && 'column' in policy.resource && (
          <>
            <code>{policy.resource.column}</code> as{' '}
          </>
        )}
        <PolicyEffect policy={policy} />
      </>
    ),
  },
];

function RestrictingPolicies({ policies: policyIds, isDenied }: { policies: readonly number[]; isDenied: boolean }) {
  const queries = useQueries({
    queries: policyIds.map((id) => ({
      queryKey: ['limit', id],
      queryFn: () => bodyOf(api.GET('/api/admin/policies/{id}', { params: { path: { id } } })),
    })),
  });
  if (policyIds.length === 0) return null;
  const items = queries.some(({ isPending }) => isPending) ? null : queries.flatMap(({ data }) => data ?? []);
  return (
    <Region title={isDenied ? 'What takes it' : 'Limits that apply'}>
      <Table name="Limits" columns={POLICY_COLUMNS} items={items} keyOf={({ id }) => id} />
    </Region>
  );
}

const NEARBY_COLUMNS: readonly Column<Schemas['EffectiveAccessResponse']>[] = [
  { name: 'Where', cell: ({ resource }) => <Path node={resource} /> },
  PRIVILEGES_COLUMN,
];

function NearbyNodes({ node }: { node: object }) {
  const { data } = useQuery({
    queryKey: ['effective-access', 'nearby'],
    queryFn: () => bodyOf(api.GET('/api/access/effective', { params: { query: { limit: 200 } } })),
  });
  const items = nearestEntries(node, data?.items ?? []);
  if (items.length === 0) return null;
  return (
    <Region title="What you reach nearby">
      <Table name="Nearby" columns={NEARBY_COLUMNS} items={items} keyOf={({ resource }) => JSON.stringify(resource)} />
    </Region>
  );
}

/** How the principal has the privilege, as the end of a sentence: *, through group eu-analysts, by grant 41 on sales.eu* */
function allowedReasonText([firstWay]: readonly ExplainedWay[]): string {
  if (firstWay === undefined) return ', by the settings of this service';
  const { group, is_for_everyone: isForEveryone, grant_id: grantId, node } = firstWay;
  const throughText = group !== null ? `through group ${group.name}` : isForEveryone ? 'as everyone' : 'directly';
  return `, ${throughText}, by grant ${grantId} on ${pathText(node)}`;
}

/** Why the principal lacks the privilege. Of several reasons a deactivated account, a deny or an expired grant is named before a missing grant. */
function refusedReasonText({ ways, restrictions }: Explanation, node: Node, isSelf: boolean): string {
  for (const kind of ['inactive', 'denied', 'expired'] as const) {
    const way = ways.find(({ ends_at: wayEnd }) => wayEnd?.kind === kind);
    if (way?.ends_at === undefined || way.ends_at === null) continue;
    const { expired_at: expiredAt } = way.ends_at;
    if (kind === 'inactive') return 'the account is deactivated';
    if (kind === 'denied') return restrictionText(restrictions, node);
    if (expiredAt !== undefined) return `grant ${way.grant_id} ended ${momentText(new Date(expiredAt), now())}`;
  }
  return isSelf ? 'no grant of yours reaches it' : 'no grant reaches it';
}

function publishedText({ published, allowed }: Explanation, { type }: PrincipalRef): string {
  if (published === null)
    return type === 'group'
      ? 'By the grants as they are now. The engine answers about people, by what is published.'
      : 'By the grants as they are now. Nothing is published yet: until then the engine refuses everything.';
  if (published.is_same) return `Live: version ${published.version} answers the same.`;
  if (published.allowed === allowed)
    return `Not live yet: version ${published.version} allows it with other filters, masks or hidden columns, until the next publication.`;
  return `Not live yet: version ${published.version} still ${published.allowed ? 'allows' : 'refuses'} it, until the next publication.`;
}
