import type {
  FunctionPrivilege,
  QueryRight,
  SystemInformationRight,
  TablePrivilege,
} from '../document/rules-document.js';
import type { Node, NodeInCatalog } from './node.js';

interface NodeReference {
  /** An absent table, schema or catalog stands for an invented name that no grant or rule contains. */
  resource: Node;
  /** Limits the question to this column of the tables. */
  column?: string | undefined;
}

export type DataQuestion =
  | ({ about: 'privilege'; privilege: TablePrivilege } & NodeReference)
  | ({ about: 'schema-ownership' } & NodeReference)
  /** `ALTER TABLE … EXECUTE`: procedures of a connector that change a table for all users. */
  | ({ about: 'table-procedures' } & NodeReference);

/** Whether a user may run a connector's function or procedure. GRANT_EXECUTE: whether views of the user may run a function for others. */
export interface RoutineQuestion {
  about: 'routine';
  kind: 'function' | 'procedure';
  /** The routine. An absent name stands for an invented name that no grant or rule contains. */
  resource: Node;
  privilege: FunctionPrivilege;
}

export type NodeQuestion = DataQuestion | RoutineQuestion;

export type RightQuestion =
  /** Whether the user's access to the catalog is exactly this mode. */
  | { about: 'catalog-mode'; resource: NodeInCatalog; mode: 'all' | 'read-only' }
  /** Whether a user may execute queries, or view or kill queries of `owner`. Without `owner`: queries of a user whom no grant or rule names. */
  | { about: 'queries'; right: QueryRight; owner?: string | undefined }
  | { about: 'impersonation'; newUser: string }
  | { about: 'system-information'; right: SystemInformationRight }
  | { about: 'session-property'; property: string; catalog: string | null };

/** A question about the access of a user. `decide` answers it from the grants, `Evaluator.allows` from the rules. */
export type Question = NodeQuestion | RightQuestion;

export function isAboutData(question: Question): question is DataQuestion {
  return ['privilege', 'schema-ownership', 'table-procedures'].includes(question.about);
}

/** Whether a question is about access that grants on a node give. No grant gives a catalog mode. */
export function isNodeQuestion<Q extends { about: string }>(question: Q): question is Exclude<Q, RightQuestion> {
  return 'resource' in question && question.about !== 'catalog-mode';
}

export function columnOf(question: NodeQuestion): string | undefined {
  return isAboutData(question) ? question.column : undefined;
}
