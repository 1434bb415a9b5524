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
  /** At this column of its tables alone. */
  column?: string | undefined;
}

/** What is held at a node of the tree. */
export type DataQuestion =
  | ({ about: 'privilege'; privilege: TablePrivilege } & AtNode)
  | ({ about: 'schema-ownership' } & AtNode)
  /** `ALTER TABLE … EXECUTE`: procedures of the connector that change a table for everybody. */
  | ({ about: 'table-procedures' } & AtNode);

/** Running a connector's function or procedure, or passing that on. */
export interface RoutineQuestion {
  about: 'routine';
  kind: 'function' | 'procedure';
  /** A routine; an unnamed level, and a routine that is not named, have a fresh name. */
  resource: Node;
  privilege: FunctionPrivilege;
}

/** What is granted at a node of the tree. */
export type NodeQuestion = DataQuestion | RoutineQuestion;

/** What belongs to no node of the tree. */
export type RightQuestion =
  /** Whether this is the mode in which a user enters the catalog. */
  | { about: 'catalog-mode'; resource: NodeInCatalog; mode: 'all' | 'read-only' }
  /** Executing one's own; viewing and killing those of this other user, or of any. */
  | { about: 'queries'; right: QueryRight; owner?: string | undefined }
  | { about: 'impersonation'; newUser: string }
  | { about: 'system-information'; right: SystemInformationRight }
  | { about: 'session-property'; property: string; catalog: string | null };

/** All that can be asked about a user: `decide` answers by the grants, `Evaluator.allows` by the rules. */
export type Question = NodeQuestion | RightQuestion;

export function isAboutData(question: Question): question is DataQuestion {
  return ['privilege', 'schema-ownership', 'table-procedures'].includes(question.about);
}

export function isAtNode(question: Question): question is NodeQuestion {
  return question.about === 'routine' || isAboutData(question);
}

/** The column that is asked about; undefined: all that is there. */
export function columnOf(question: NodeQuestion): string | undefined {
  return isAboutData(question) ? question.column : undefined;
}
