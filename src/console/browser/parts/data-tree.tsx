import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { type Children, useChildren, useFoundTables, useHolderCount } from '../api/catalog.js';
import { countText, holdersText, moreText, numberText, holderCount } from '../domain/count-text.js';
import { addressOfNode, nodeAt } from '../domain/node-path.js';
import { type Branch, isBelow, type TreeRow, treeRows, parseSearch, withFoundTables } from '../domain/tree-rows.js';
import { Icon } from './controls.js';
import { NodeIcon } from './display.js';
import { Search, SEARCH, useFilters } from './filter-bar.js';
import { Failure } from './notice.js';

const CHILD_KINDS = ['catalogs', 'schemas', 'tables'] as const;

type BranchQuery = ReturnType<typeof useChildren>;

/** The tree along the path to the open node, with all siblings on each level. The search box filters one level of the tree. */
export function DataTree({ openPath }: { openPath: readonly string[] }) {
  const { values, setFilter } = useFilters([]);
  const searchText = values[SEARCH] ?? '';
  const search = parseSearch(openPath, searchText);
  const searchedDepth = search.parentPath.length;
  const searchTextAt = (depth: number): string => (depth === searchedDepth ? search.namePart : '');
  const [catalog, schema] = search.parentPath;
  const catalogs = useChildren([], searchTextAt(0));
  const schemas = useChildren(catalog === undefined ? null : [catalog], searchTextAt(1));
  const tables = useChildren(catalog === undefined || schema === undefined ? null : [catalog, schema], searchTextAt(2));
  const foundTables = useFoundTables(searchedDepth === 1 ? catalog : undefined, search.namePart);
  const branches = [catalogs, schemas, tables].slice(0, searchedDepth + 1);
  const [deepestBranch = catalogs] = branches.slice(-1);
  const failedIndex = branches.findIndex(({ query, items }) => query.isError && items === null);
  const failedQuery = branches.find(({ query }) => query.isError)?.query;
  const childCount = deepestBranch.first?.total ?? null;
  const childKind = CHILD_KINDS[searchedDepth] ?? 'tables';
  const loadedBranches = branches.slice(0, failedIndex === -1 ? undefined : failedIndex).map(branchOf);
  const openRows = treeRows(isBelow(openPath, search.parentPath) ? openPath : search.parentPath, loadedBranches);
  const rows = withFoundTables(openRows, catalog ?? '', foundTables?.items ?? []);
  return (
    <nav className="tree" id="tree" aria-label="Data tree" popover="auto">
      <Search
        placeholder={
          childCount === null || searchText !== '' ? `Search ${childKind}` : `${numberText(childCount)} ${childKind}`
        }
        query={searchText}
        search={(text) => setFilter(SEARCH, text)}
      />
      {failedQuery?.error && <Failure problem={failedQuery.error} retry={() => void failedQuery.refetch()} />}
      <EngineNote engine={deepestBranch.first?.engine} path={search.parentPath} />
      <Rows rows={rows} openPath={openPath} search={searchText} branches={branches} />
      {foundTables !== undefined && (foundTables.total ?? 0) > foundTables.items.length && (
        <p className="note">{moreText([countText((foundTables.total ?? 0) - foundTables.items.length, 'table')])}</p>
      )}
    </nav>
  );
}

function branchOf({ items, first, hasMore }: BranchQuery): Branch {
  const listedCount = items?.filter(({ in_engine: isListed }) => isListed === true).length ?? 0;
  const childCount = first?.total ?? null;
  return { items, hasMore, unreadCount: childCount === null ? null : childCount - listedCount };
}

function EngineNote({ engine, path }: { engine: Children['engine'] | undefined; path: readonly string[] }) {
  if (engine === undefined || engine === 'listed') return null;
  const reason = {
    none: 'No engine is configured',
    closed: `The engine does not show ${path.join('.')} to the service`,
    unavailable: 'The engine does not answer',
  }[engine];
  return <p className="note">{reason}: these are the names of grants and policies alone.</p>;
}

interface RowsProps {
  rows: readonly TreeRow[];
  openPath: readonly string[];
  search: string;
  branches: readonly BranchQuery[];
}

function Rows({ rows, openPath, search, branches }: RowsProps) {
  const scrollElement = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scrollElement.current,
    estimateSize: () => (matchMedia('(max-width: 48rem)').matches ? 40 : 28),
    overscan: 6,
    initialRect: { width: 200, height: 600 },
  });
  const visibleRows = virtualizer.getVirtualItems();
  const paddingTop = visibleRows[0]?.start ?? 0;
  const paddingBottom = virtualizer.getTotalSize() - (visibleRows.at(-1)?.end ?? 0);
  const isMoreRowVisible = visibleRows.some(({ index }) => rows[index]?.kind === 'more');
  const deepestBranch = branches.at(-1);
  useEffect(() => {
    if (isMoreRowVisible) deepestBranch?.readMore?.();
  }, [isMoreRowVisible, deepestBranch]);
  const openPathKey = openPath.join('\0');
  const currentIndex = rows.findIndex((row) => row.kind === 'node' && row.path.join('\0') === openPathKey);
  useEffect(() => {
    virtualizer.scrollToIndex(currentIndex, { align: 'auto' });
    // Scrolls only when another node is opened. Scrolling at every render would undo scrolling by hand.
  }, [openPathKey, currentIndex >= 0]);
  return (
    <div className="tree__scroll" ref={scrollElement}>
      <ul style={{ paddingTop, paddingBottom }}>
        {visibleRows.map(({ index }) => {
          const row = rows[index];
          return row === undefined ? null : (
            <Row key={rowKey(row)} row={row} isCurrent={index === currentIndex} search={search} branches={branches} />
          );
        })}
      </ul>
    </div>
  );
}

function rowKey(row: TreeRow): string {
  return row.kind === 'node' ? row.path.join('\0') : `${row.kind} ${row.depth}`;
}

interface RowProps extends Pick<RowsProps, 'search' | 'branches'> {
  row: TreeRow;
  isCurrent: boolean;
}

function Row({ row, isCurrent, search, branches }: RowProps) {
  const depth = row.kind === 'node' ? row.path.length : row.depth;
  const childKind = CHILD_KINDS[depth - 1] ?? 'tables';
  const hasSearch = search !== '';
  return (
    <li style={{ '--depth': depth } as object}>
      {row.kind === 'node' && <NodeLink path={row.path} child={row.child} isCurrent={isCurrent} search={search} />}
      {row.kind === 'loading' && <span className="skeleton skeleton--s" />}
      {row.kind === 'none' && (
        <p className="note">
          {hasSearch ? `No ${childKind} match.` : `No ${childKind}.`}
          {hasSearch && depth === 1 && ' Open a catalog to search its tables, or write a path such as sales.eu.ord.'}
        </p>
      )}
      {row.kind === 'more' && (
        <button type="button" onClick={() => branches[depth - 1]?.readMore?.()}>
          {row.count === null ? `More ${childKind}` : `${numberText(row.count)} more ${childKind}`}
        </button>
      )}
    </li>
  );
}

interface NodeLinkProps extends Pick<RowProps, 'isCurrent' | 'search'> {
  path: readonly string[];
  child: Extract<TreeRow, { kind: 'node' }>['child'];
}

function NodeLink({ path, child, isCurrent, search }: NodeLinkProps) {
  const node = nodeAt(path);
  const isAbsent = child?.in_engine === false;
  const holderCounts = useHolderCount(node, child !== null && child.grants > 0 && !isAbsent);
  const holdersLabel = holderCounts && holdersText(holderCounts);
  // The link to a table keeps the search, so that the found tables stay in the tree while one of them is open.
  const isTable = path.length === CHILD_KINDS.length;
  const keptSearch = isTable && search !== '' ? `?${new URLSearchParams({ [SEARCH]: search }).toString()}` : '';
  return (
    <Link
      className={isAbsent ? 'is-absent' : ''}
      href={addressOfNode(node) + keptSearch}
      aria-current={isCurrent ? 'page' : undefined}
      title={`${path.at(-1) ?? ''}${isAbsent ? ': grants or policies name it, the engine does not list it' : holdersLabel === undefined ? '' : `: ${holdersLabel}`}`}
      onClick={() => document.getElementById('tree')?.hidePopover()}
    >
      <NodeIcon node={node} />
      <span>{path.at(-1) ?? 'Everything'}</span>
      {isAbsent && <span className="hidden"> (not in the engine)</span>}
      {holderCounts !== undefined && (
        <span className="count" aria-hidden="true">
          <Icon name="person" />
          {numberText(holderCount(holderCounts))}
        </span>
      )}
      {holdersLabel !== undefined && <span className="hidden"> {holdersLabel}</span>}
      {isAbsent && <Icon name="warn" />}
    </Link>
  );
}
