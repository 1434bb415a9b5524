import { useQueries, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { useMe } from '../api/session.js';
import { type Node, privilegesOn } from '../domain/grant-form.js';
import { momentText } from '../domain/moment-text.js';
import { nearestEntries, NO_NAMES, pathText } from '../domain/node-path.js';
import { KIND_NAMES, type Policy } from '../domain/policy-form.js';
import { type Named, principalParameter } from '../domain/principal.js';
import {
  prepositionOf,
  questionOfAddress,
  restrictionText,
  type WhyQuestion,
  withName,
} from '../domain/why-address.js';
import { now } from '../now.js';
import { useAddress, useSettled } from '../parts/address.js';
import { Combobox } from '../parts/combobox.js';
import { Button, CopyButton, Icon } from '../parts/controls.js';
import { Breakable, Path, Privileges } from '../parts/display.js';
import { NodeComboboxes } from '../parts/node-comboboxes.js';
import { Failure, Note } from '../parts/notice.js';
import { Region, useTitle } from '../parts/page.js';
import { PolicyEffect } from '../parts/policies.js';
import { PrincipalCombobox, usePrincipalName } from '../parts/principal-combobox.js';
import { type Column, Table } from '../parts/table.js';
import { Chains, type Explanation, NearestChange, useExplanation, type WayOfAnswer } from '../parts/why-chains.js';

/** Why somebody may do something on a node, or not; people who are no administrators ask about themselves. */
export function Why() {
  useTitle('Why');
  const me = useMe();
  const { search } = useAddress();
  const settled = useSettled(search.toString(), 150);
  const isAdministrator = me.role === 'admin';
  const self = { type: 'user', id: me.id, name: me.username };
  const asked = questionOfAddress(new URLSearchParams(settled));
  const principal = isAdministrator ? asked.principal : self;
  const isOther = asked.principal !== null && principalParameter(asked.principal) !== principalParameter(self);
  const name = usePrincipalName(principal);
  const named = usePrincipalName(asked.node.as ?? asked.node.queries ?? null);
  const { data, error, refetch } = useExplanation(asked, !isAdministrator);
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
            {!isAdministrator && isOther && (
              <Note role="status">Only administrators see why about others. This answer is about you.</Note>
            )}
            <Answer
              explanation={data}
              question={{ ...asked, node: withName(asked.node, named) }}
              principal={{ ...principal, name }}
              isOwn={!isAdministrator}
            />
          </>
        )}
      </div>
    </main>
  );
}

function QuestionForm({ isAdministrator }: { isAdministrator: boolean }) {
  const { search, change } = useAddress();
  const { principal, privilege, node } = questionOfAddress(search);
  const name = usePrincipalName(isAdministrator ? principal : null);
  return (
    <form className="question" role="search" aria-label="Question" onSubmit={(event) => event.preventDefault()}>
      {isAdministrator && (
        <PrincipalCombobox
          value={principal && { ...principal, name }}
          without={['everyone']}
          isPlain
          set={(value) => change({ principal: value === null ? '' : principalParameter(value) })}
        />
      )}
      <PrivilegeCombobox node={node} value={privilege} set={(value) => change({ privilege: value })} />
      <NodeComboboxes
        value={{ ...NO_NAMES, ...node }}
        last={node.routine === undefined ? 'table' : 'routine'}
        set={({ catalog, schema, table, routine = '' }) =>
          change({ catalog, schema, table, routine, engine: '', as: '', queries: '' })
        }
      />
    </form>
  );
}

function PrivilegeCombobox({ node, value, set }: { node: Node; value: string; set: (value: string) => void }) {
  const [typed, setTyped] = useState<string | null>(null);
  const part = (typed ?? '').toUpperCase();
  const choices = privilegesOn(node).filter((name) => name.includes(part));
  return (
    <Combobox
      label="Privilege"
      text={typed ?? value}
      isMono
      isClosed
      choices={choices.map((name) => ({ key: name, text: name }))}
      setText={(text) => {
        const whole = choices.find((name) => name === text.toUpperCase());
        setTyped(whole === undefined ? text : null);
        if (whole !== undefined) set(whole);
      }}
      choose={({ text }) => {
        setTyped(null);
        set(text);
      }}
    />
  );
}

/** Ways that are shown at first. */
const FIRST_WAYS = 3;

interface AnswerProps {
  explanation: Explanation;
  question: WhyQuestion;
  principal: Named;
  isOwn: boolean;
}

function Answer({ explanation, question, principal, isOwn }: AnswerProps) {
  const { search, change } = useAddress();
  const { allowed, rule, ways, smallest_change: nearest } = explanation;
  const who = isOwn ? 'You' : (principal.name ?? '');
  const shown = search.has('ways') ? ways : ways.slice(0, FIRST_WAYS);
  return (
    <>
      <div className="answer" aria-live="polite">
        <span className={allowed ? 'verdict' : 'verdict verdict--no'} aria-hidden="true">
          <Icon name={allowed ? 'check' : 'cross'} />
        </span>
        <div>
          <h1>
            <b>{who}</b> may {!allowed && <b>not </b>}
            <b>{question.privilege}</b> {prepositionOf(question.privilege)} <Path node={question.node} />
            {allowed ? reasonFor(ways) : `: ${reasonAgainst(explanation, question.node, isOwn)}`}.
          </h1>
          <p className="dim">{publishedText(explanation, principal)}</p>
        </div>
      </div>
      <Chains explanation={explanation} principal={principal} node={question.node} ways={shown} isOwn={isOwn} />
      {ways.length > shown.length && (
        <div className="row">
          <Button text={`Show all ${explanation.ways_in_all} ways`} onClick={() => change({ ways: 'all' }, true)} />
        </div>
      )}
      <div className="pair">
        {rule?.text !== undefined && rule.text !== null && (
          <div className="stack">
            <section>
              <div className="head">
                <h2>The rule that decides</h2>
                <CopyButton value={rule.text} look="small quiet" />
              </div>
              <pre className="code" tabIndex={0} role="group" aria-label={`${rule.section}[${rule.index}]`}>
                <Breakable text={rule.text} />
              </pre>
            </section>
            <LimitsThatApply policies={explanation.policies} isTaking={!allowed} />
          </div>
        )}
        <NearestChange change={nearest} isOwn={isOwn} />
        {isOwn && !allowed && <Nearby node={question.node} />}
      </div>
    </>
  );
}

const LIMITS: readonly Column<Policy>[] = [
  { name: 'Policy', cell: ({ id }) => <Link href={`/policies/${id}`}>{id}</Link> },
  { name: 'Kind', cell: ({ kind }) => KIND_NAMES[kind].toLowerCase() },
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

/** The policies that restrict what the privilege reads, or that take it. */
function LimitsThatApply({ policies: ids, isTaking }: { policies: readonly number[]; isTaking: boolean }) {
  const answers = useQueries({
    queries: ids.map((id) => ({
      queryKey: ['limit', id],
      queryFn: () => bodyOf(api.GET('/api/admin/policies/{id}', { params: { path: { id } } })),
    })),
  });
  if (ids.length === 0) return null;
  const items = answers.some(({ isPending }) => isPending) ? null : answers.flatMap(({ data }) => data ?? []);
  return (
    <Region title={isTaking ? 'What takes it' : 'Limits that apply'}>
      <Table name="Limits" columns={LIMITS} items={items} keyOf={({ id }) => id} />
    </Region>
  );
}

const NEARBY: readonly Column<Schemas['EffectiveAccessResponse']>[] = [
  { name: 'Where', cell: ({ resource }) => <Path node={resource} /> },
  { name: 'May', className: 'may', cell: ({ privileges }) => <Privileges names={privileges} /> },
];

/** For a person who is refused on a node: the nearest nodes that this person can reach. */
function Nearby({ node }: { node: object }) {
  const { data } = useQuery({
    queryKey: ['effective-access', 'nearby'],
    queryFn: () => bodyOf(api.GET('/api/access/effective', { params: { query: { limit: 200 } } })),
  });
  const items = nearestEntries(node, data?.items ?? []);
  if (items.length === 0) return null;
  return (
    <Region title="What you reach nearby">
      <Table name="Nearby" columns={NEARBY} items={items} keyOf={({ resource }) => JSON.stringify(resource)} />
    </Region>
  );
}

/** *, through group eu-analysts, by grant 41 on sales.eu* */
function reasonFor([first]: readonly WayOfAnswer[]): string {
  if (first === undefined) return ', by the settings of this service';
  const { group, is_for_everyone: isForEveryone, grant_id: grant, node } = first;
  const through = group !== null ? `through group ${group.name}` : isForEveryone ? 'as everyone' : 'directly';
  return `, ${through}, by grant ${grant} on ${pathText(node)}`;
}

/** The most specific reason of all ways: a way that is denied or has ended comes before one without a grant. */
function reasonAgainst({ ways, restrictions }: Explanation, node: Node, isOwn: boolean): string {
  for (const kind of ['inactive', 'denied', 'expired'] as const) {
    const way = ways.find(({ ends_at: end }) => end?.kind === kind);
    if (way?.ends_at === undefined || way.ends_at === null) continue;
    const { expired_at: at } = way.ends_at;
    if (kind === 'inactive') return 'the account is deactivated';
    if (kind === 'denied') return restrictionText(restrictions, node);
    if (at !== undefined) return `grant ${way.grant_id} ended ${momentText(new Date(at), now())}`;
  }
  return isOwn ? 'no grant of yours reaches it' : 'no grant reaches it';
}

function publishedText({ published, allowed }: Explanation, { type }: Named): string {
  if (published === null)
    return type === 'group'
      ? 'By the grants as they are now. The engine answers about people, by what is published.'
      : 'By the grants as they are now. Nothing is published yet: until then the engine refuses everything.';
  if (published.is_same) return `Live: version ${published.version} answers the same.`;
  if (published.allowed === allowed)
    return `Not live yet: version ${published.version} allows it with other filters, masks or hidden columns, until the next publication.`;
  return `Not live yet: version ${published.version} still ${published.allowed ? 'allows' : 'refuses'} it, until the next publication.`;
}
