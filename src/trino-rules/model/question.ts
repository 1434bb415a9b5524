import type {
  FunctionPrivilege,
  QueryRight,
  SystemInformationRight,
  TablePrivilege,
} from '../document/rules-document.js';
import type { Node, NodeInCatalog } from './node.js';

interface AtNode {
  /** An unnamed level has a fresh name. */
  resource: Node;
  /** Only this column of its tables. */
  column?: string | undefined;
}

export type DataQuestion =
  | ({ about: 'privilege'; privilege: TablePrivilege } & AtNode)
  | ({ about: 'schema-ownership' } & AtNode)
  /** `ALTER TABLE … EXECUTE`: procedures of the connector that change a table for everybody. */
  | ({ about: 'table-procedures' } & AtNode);

/** Whether a connector's function or procedure may be run, or the right passed on. */
export interface RoutineQuestion {
  about: 'routine';
  kind: 'function' | 'procedure';
  /** An unnamed level or routine has a fresh name. */
  resource: Node;
  privilege: FunctionPrivilege;
}

export type NodeQuestion = DataQuestion | RoutineQuestion;

export type RightQuestion =
  /** Whether this is the mode in which a user enters the catalog. */
  | { about: 'catalog-mode'; resource: NodeInCatalog; mode: 'all' | 'read-only' }
  /** Executing one's own queries, or viewing or killing queries of this owner; without an owner, of any other user. */
  | { about: 'queries'; right: QueryRight; owner?: string | undefined }
  | { about: 'impersonation'; newUser: string }
  | { about: 'system-information'; right: SystemInformationRight }
  | { about: 'session-property'; property: string; catalog: string | null };

/** Every question about a user: `decide` answers it by the grants, `Evaluator.allows` by the rules. */
export type Question = NodeQuestion | RightQuestion;

export function isAboutData(question: Question): question is DataQuestion {
  return ['privilege', 'schema-ownership', 'table-procedures'].includes(question.about);
}

export function isAtNode(question: Question): question is NodeQuestion {
  return question.about === 'routine' || isAboutData(question);
}

export function columnOf(question: NodeQuestion): string | undefined {
  return isAboutData(question) ? question.column : undefined;
}
