import {
  FUNCTION_PRIVILEGES,
  PROCEDURE_PRIVILEGES,
  QUERY_RIGHTS,
  TABLE_PRIVILEGES,
} from '../../trino-rules/document/rules-document.js';

/** How the engine (Trino 483) reads a field of a rule, and what it does if the field is absent. */
export type FieldFormat =
  | {
      reads: 'pattern';
      /** The kind of name that it matches. Names of catalogs, schemas and the like are lower-case in the engine. */
      matches: 'user' | 'group' | 'role' | 'lower-case name' | 'property';
      isRequired?: true;
    }
  /** A text with references to the groups of `original_user`, then a pattern. */
  | { reads: 'new-user' }
  | { reads: 'catalog-mode' }
  /** Trino documents that an absent flag is true, not that it is false. */
  | { reads: 'flag'; whenAbsent: boolean }
  /** `isEnum`: numbers count as words, too, by their order. */
  | { reads: 'words'; words: readonly string[]; isEnum: boolean }
  | { reads: 'columns' }
  | { reads: 'expression' }
  | { reads: 'environment' }
  | { reads: 'text' }
  /** A list that must be empty. */
  | { reads: 'no-words' };

export interface SectionFormat {
  fields: Readonly<Record<string, FieldFormat>>;
  /** Other spellings that the engine accepts. */
  aliases?: Readonly<Record<string, string>>;
  /** The effect of an absent section, where it opens anything. */
  whenAbsent?: { severity: 'warning' | 'info'; meaning: string };
}

const USER: FieldFormat = { reads: 'pattern', matches: 'user' };
const GROUP: FieldFormat = { reads: 'pattern', matches: 'group' };
const ROLE: FieldFormat = { reads: 'pattern', matches: 'role' };
const NAME: FieldFormat = { reads: 'pattern', matches: 'lower-case name' };
const PROPERTY: FieldFormat = { reads: 'pattern', matches: 'property' };
const IDENTITY = { user: USER, role: ROLE, group: GROUP };

function words(list: readonly string[], isEnum: boolean): FieldFormat {
  return { reads: 'words', words: list, isEnum };
}

function flag(whenAbsent: boolean): FieldFormat {
  return { reads: 'flag', whenAbsent };
}

/** All twelve sections, in the order of the engine's documentation. */
export const ENGINE_FORMAT = {
  catalogs: {
    fields: { ...IDENTITY, catalog: NAME, allow: { reads: 'catalog-mode' } },
    whenAbsent: { severity: 'warning', meaning: 'everybody may enter every catalog and write there' },
  },
  schemas: {
    fields: { ...IDENTITY, catalog: NAME, schema: NAME, owner: flag(false) },
    whenAbsent: { severity: 'warning', meaning: 'everybody owns every schema' },
  },
  tables: {
    fields: {
      ...IDENTITY,
      catalog: NAME,
      schema: NAME,
      table: NAME,
      privileges: words(TABLE_PRIVILEGES, true),
      columns: { reads: 'columns' },
      filter: { reads: 'expression' },
      filter_environment: { reads: 'environment' },
    },
    whenAbsent: { severity: 'warning', meaning: 'everybody has every privilege on every table' },
  },
  functions: {
    fields: {
      ...IDENTITY,
      catalog: NAME,
      schema: NAME,
      function: NAME,
      privileges: words(FUNCTION_PRIVILEGES, true),
      function_kinds: { reads: 'no-words' },
    },
    aliases: { functionKinds: 'function_kinds' },
  },
  procedures: {
    fields: {
      ...IDENTITY,
      catalog: NAME,
      schema: NAME,
      procedure: NAME,
      privileges: words(PROCEDURE_PRIVILEGES, true),
    },
  },
  queries: {
    fields: { ...IDENTITY, queryOwner: USER, allow: words(QUERY_RIGHTS, false) },
    whenAbsent: { severity: 'warning', meaning: 'everybody may run queries, and view and kill those of others' },
  },
  impersonation: {
    fields: { original_user: USER, original_role: ROLE, new_user: { reads: 'new-user' }, allow: flag(true) },
    aliases: { originalUser: 'original_user', newUser: 'new_user' },
  },
  principals: {
    fields: {
      principal: { reads: 'pattern', matches: 'user', isRequired: true },
      user: USER,
      principal_to_user: { reads: 'text' },
      allow: flag(false),
    },
  },
  system_information: {
    fields: { user: USER, role: ROLE, allow: words(['read', 'write'], false) },
  },
  authorization: {
    fields: {
      original_user: USER,
      original_group: GROUP,
      original_role: ROLE,
      new_user: USER,
      // Names the role that is given, not one that the user has.
      new_role: PROPERTY,
      allow: flag(true),
    },
    aliases: {
      originalUser: 'original_user',
      originalGroup: 'original_group',
      originalRole: 'original_role',
      newUser: 'new_user',
      newRole: 'new_role',
    },
  },
  system_session_properties: {
    fields: { ...IDENTITY, property: PROPERTY, allow: flag(false) },
    whenAbsent: { severity: 'info', meaning: 'everybody may set every session property' },
  },
  catalog_session_properties: {
    fields: { ...IDENTITY, catalog: NAME, property: PROPERTY, allow: flag(false) },
    whenAbsent: {
      severity: 'info',
      meaning: 'everybody may set the session properties of the catalogs that they may enter',
    },
  },
} as const satisfies Record<string, SectionFormat>;

export type SectionName = keyof typeof ENGINE_FORMAT;

export const SECTION_NAMES = Object.keys(ENGINE_FORMAT) as SectionName[];

export function formatOf(section: SectionName): SectionFormat {
  return ENGINE_FORMAT[section];
}

/** A question after a message about an unknown word: the known word that may be meant, or empty. */
export function spellingHint(word: string, known: readonly string[]): string {
  const near = spelledLike(word, known);
  return near === undefined ? '' : `; did you mean "${near}"?`;
}

/** The known word that differs in case, separators, or an ending `s` alone. */
export function spelledLike(word: string, known: readonly string[]): string | undefined {
  const bare = (text: string): string =>
    text
      .toLowerCase()
      .replace(/[^a-z]/g, '')
      .replace(/s$/, '');
  return known.find((each) => bare(each) === bare(word));
}
