import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { type Children, useChildren, useFoundTables, useReach } from '../api/catalog.js';
import { countText, holdersText, moreText, numberText, sizeOf } from '../domain/count-text.js';
import { addressOfNode, nodeAt } from '../domain/node-path.js';
import { type Branch, isBelow, type TreeRow, treeRows, treeSearch, withFoundTables } from '../domain/tree-rows.js';
import { Icon } from './controls.js';
import { NodeIcon } from './display.js';
import { Search, SEARCH, useFilters } from './filter-bar.js';
import { Failure } from './notice.js';

const PLURALS = ['catalogs', 'schemas', 'tables'] as const;

type Branches = ReturnType<typeof useChildren>;

/** The path to a node, with the siblings on each level. The search is among the children of the deepest open node. */
export function DataTree({ open }: { open: readonly string[] }) {
  const { asked, ask } = useFilters([]);
  const q = asked[SEARCH] ?? '';
  const search = treeSearch(open, q);
  const searched = search.under.length;
  const part = (depth: number): string => (depth === searched ? search.part : '');
  const [catalog, schema] = search.under;
  const catalogs = useChildren([], part(0));
  const schemas = useChildren(catalog === undefined ? null : [catalog], part(1));
  const tables = useChildren(catalog === undefined || schema === undefined ? null : [catalog, schema], part(2));
  const found = useFoundTables(searched === 1 ? catalog : undefined, search.part);
  const branches = [catalogs, schemas, tables].slice(0, searched + 1);
  const [deepest = catalogs] = branches.slice(-1);
  const failed = branches.find(({ query, items }) => query.isError && items === null);
  const total = deepest.first?.total ?? null;
  const kind = PLURALS[searched] ?? 'tables';
  const rows = treeRows(
    isBelow(open, search.under) ? open : search.under,
    branches.slice(0, failed && branches.indexOf(failed)).map(branchOf),
  );
  return (
    <nav className="tree" id="tree" aria-label="Data tree" popover="auto">
      <Search
        placeholder={total === null || q !== '' ? `Search ${kind}` : `${numberText(total)} ${kind}`}
        asked={q}
        ask={(text) => ask(SEARCH, text)}
      />
      {failed?.query.error && <Failure problem={failed.query.error} retry={() => void failed.query.refetch()} />}
      <EngineNote engine={deepest.first?.engine} of={search.under} />
      <Rows rows={withFoundTables(rows, catalog ?? '', found?.items ?? [])} open={open} q={q} branches={branches} />
      {found !== undefined && (found.total ?? 0) > found.items.length && (
        <p className="note">{moreText([countText((found.total ?? 0) - found.items.length, 'table')])}</p>
      )}
    </nav>
  );
}

function branchOf({ items, first, hasMore }: Branches): Branch {
  const listed = items?.filter(({ in_engine: isListed }) => isListed === true).length ?? 0;
  return { items, hasMore, left: first?.total === undefined || first.total === null ? null : first.total - listed };
}

/** A notice of what the tree lacks when the engine does not list its names. */
function EngineNote({ engine, of }: { engine: Children['engine'] | undefined; of: readonly string[] }) {
  if (engine === undefined || engine === 'listed') return null;
  const why = {
    none: 'No engine is configured',
    closed: `The engine does not show ${of.join('.')} to the service`,
    unavailable: 'The engine does not answer',
  }[engine];
  return <p className="note">{why}: these are the names of grants and policies alone.</p>;
}

interface RowsProps {
  rows: readonly TreeRow[];
  open: readonly string[];
  q: string;
  branches: readonly Branches[];
}

function Rows({ rows, open, q, branches }: RowsProps) {
  const list = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => list.current,
    estimateSize: () => (matchMedia('(max-width: 48rem)').matches ? 40 : 28),
    overscan: 6,
    initialRect: { width: 200, height: 600 },
  });
  const shown = virtual.getVirtualItems();
  const start = shown[0]?.start ?? 0;
  const end = virtual.getTotalSize() - (shown.at(-1)?.end ?? 0);
  const isAtMore = shown.some(({ index }) => rows[index]?.kind === 'more');
  const deepest = branches.at(-1);
  useEffect(() => {
    if (isAtMore) deepest?.more?.();
  }, [isAtMore, deepest]);
  const path = open.join('\0');
  const current = rows.findIndex((row) => row.kind === 'node' && row.names.join('\0') === path);
  useEffect(() => {
    virtual.scrollToIndex(current, { align: 'auto' });
    // Only when another node is opened, so that it does not undo scrolling.
  }, [path, current >= 0]);
  return (
    <div className="tree__scroll" ref={list}>
      <ul style={{ paddingTop: start, paddingBottom: end }}>
        {shown.map(({ index }) => {
          const row = rows[index];
          return row === undefined ? null : (
            <Row key={keyOf(row)} row={row} isCurrent={index === current} q={q} branches={branches} />
          );
        })}
      </ul>
    </div>
  );
}

function keyOf(row: TreeRow): string {
  return row.kind === 'node' ? row.names.join('\0') : `${row.kind} ${row.depth}`;
}

interface RowProps extends Pick<RowsProps, 'q' | 'branches'> {
  row: TreeRow;
  isCurrent: boolean;
}

function Row({ row, isCurrent, q, branches }: RowProps) {
  const depth = row.kind === 'node' ? row.names.length : row.depth;
  const kind = PLURALS[depth - 1] ?? 'tables';
  return (
    <li style={{ '--depth': depth } as object}>
      {row.kind === 'node' && <NodeLink names={row.names} child={row.child} isCurrent={isCurrent} q={q} />}
      {row.kind === 'loading' && <span className="skeleton skeleton--s" />}
      {row.kind === 'none' && (
        <p className="note">
          {q === '' ? `No ${kind}.` : `No ${kind} match.`}
          {q !== '' && depth === 1 && ' Open a catalog to search its tables, or write a path such as sales.eu.ord.'}
        </p>
      )}
      {row.kind === 'more' && (
        <button type="button" onClick={() => branches[depth - 1]?.more?.()}>
          {row.count === null ? `More ${kind}` : `${numberText(row.count)} more ${kind}`}
        </button>
      )}
    </li>
  );
}

interface NodeLinkProps extends Pick<RowProps, 'isCurrent' | 'q'> {
  names: readonly string[];
  child: Extract<TreeRow, { kind: 'node' }>['child'];
}

function NodeLink({ names, child, isCurrent, q }: NodeLinkProps) {
  const node = nodeAt(names);
  const isAbsent = child?.in_engine === false;
  const reach = useReach(node, child !== null && child.grants > 0 && !isAbsent);
  const holders = reach && holdersText(reach);
  // The found tables stay in the tree while one of them is open.
  const kept = names.length === PLURALS.length && q !== '' ? `?${new URLSearchParams({ [SEARCH]: q }).toString()}` : '';
  return (
    <Link
      className={isAbsent ? 'is-absent' : ''}
      href={addressOfNode(node) + kept}
      aria-current={isCurrent ? 'page' : undefined}
      title={`${names.at(-1) ?? ''}${isAbsent ? ': grants or policies name it, the engine does not list it' : holders === undefined ? '' : `: ${holders}`}`}
      onClick={() => document.getElementById('tree')?.hidePopover()}
    >
      <NodeIcon node={node} />
      <span>{names.at(-1) ?? 'Everything'}</span>
      {isAbsent && <span className="hidden"> (not in the engine)</span>}
      {reach !== undefined && (
        <span className="count" aria-hidden="true">
          <Icon name="person" />
          {numberText(sizeOf(reach))}
        </span>
      )}
      {holders !== undefined && <span className="hidden"> {holders}</span>}
      {isAbsent && <Icon name="warn" />}
    </Link>
  );
}
