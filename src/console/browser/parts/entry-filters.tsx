import { parsePrincipal, principalParameter } from '../domain/principal.js';
import { type Filter, SEARCH } from './filters.js';
import { PrincipalCombobox, usePrincipalName } from './principal-combobox.js';

/** By whom a grant or a policy is for, and by its node. */
export const ENTRY_FILTERS: readonly Filter[] = [
  {
    parameter: 'principal',
    name: 'Holder',
    field: (choose) => (
      <PrincipalCombobox
        value={null}
        set={(value) => {
          if (value !== null) choose(principalParameter(value));
        }}
      />
    ),
    show: (value) => <PrincipalName parameter={value} />,
  },
  { parameter: 'covering', name: 'Covers' },
  { parameter: 'catalog', name: 'Catalog' },
  { parameter: 'schema', name: 'Schema' },
  { parameter: 'table', name: 'Table' },
];

/** The query of the API for what the address asks. */
export function entryQueryOf({ [SEARCH]: q, principal, covering, catalog, schema, table }: Asked) {
  return {
    ...(q !== undefined && { q }),
    ...(principal !== undefined && parsePrincipal(principal) !== null && { principal }),
    ...(covering !== undefined && { covering }),
    ...(catalog !== undefined && { catalog }),
    ...(schema !== undefined && { schema }),
    ...(table !== undefined && { table }),
  };
}

export type Asked = Readonly<Record<string, string | undefined>>;

/** Whom a parameter of the address names. */
function PrincipalName({ parameter }: { parameter: string }) {
  return <>{usePrincipalName(parsePrincipal(parameter))}</>;
}
