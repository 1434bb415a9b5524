import type { Access } from '../model/intent.js';
import { PRIVILEGE_TERMS, type Privilege } from '../model/privilege.js';
import type { Resource } from '../model/resource.js';

/** What is asked about a principal: one privilege at a node, or at a column in the tables of that node. */
export interface Question {
  resource: Resource;
  column?: string | undefined;
  privilege: Privilege;
}

/** What an access gives at one column: who may not see it cannot read it. Without a column, all of it. */
export function accessToColumn(access: Access, column: string | undefined): Access {
  if (column === undefined) return access;
  const { privileges, filters, hidden, masks, conflicts } = access;
  return {
    privileges: hidden.includes(column)
      ? privileges.filter((privilege) => !PRIVILEGE_TERMS[privilege].readsColumns)
      : privileges,
    filters,
    hidden: hidden.filter((name) => name === column),
    masks: masks.filter((mask) => mask.column === column),
    conflicts: conflicts.filter((name) => name === column),
  };
}
