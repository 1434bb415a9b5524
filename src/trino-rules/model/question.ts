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
  ({ about: 'privilege'; privilege: TablePrivilege } & AtNode) | ({ about: 'schema-ownership' } & AtNode);

/** What belongs to no table. */
export type RightQuestion =
  /** Whether this is the mode in which a user enters the catalog. */
  | { about: 'catalog-mode'; resource: NodeInCatalog; mode: 'all' | 'read-only' }
  | { about: 'queries'; right: QueryRight }
  | { about: 'impersonation'; newUser: string }
  | {
      about: 'routine';
      kind: 'function' | 'procedure';
      resource: NodeInCatalog;
      name: string;
      privilege: FunctionPrivilege;
    }
  | { about: 'system-information'; right: SystemInformationRight }
  | { about: 'session-property'; property: string; catalog: string | null };

/** All that can be asked about a user: `decide` answers by the grants, `Evaluator.allows` by the rules. */
export type Question = DataQuestion | RightQuestion;

export function isAboutData(question: Question): question is DataQuestion {
  return question.about === 'privilege' || question.about === 'schema-ownership';
}
