import {
  FUNCTION_PRIVILEGES,
  PROCEDURE_PRIVILEGES,
  QUERY_RIGHTS,
  TABLE_PRIVILEGES,
} from '../../trino-rules/document/rules-document.js';

/** How the engine (Trino 483) reads a field of a rule, and what it does if the field is absent. */
export type FieldFormat =
  | {
      kind: 'pattern';
      /** The kind of name that the pattern matches. Names of catalogs, schemas and the like are lower-case in the engine. */
      nameKind: 'user' | 'group' | 'role' | 'lower-case name' | 'property';
      isRequired?: true;
    }
  /** A text with references to capturing groups of `original_user`, which becomes a pattern when the references are replaced. */
  | { kind: 'new-user' }
  | { kind: 'catalog-mode' }
  /** `whenAbsent`: the engine's default. Trino's documentation omits it where it is `false`. */
  | { kind: 'flag'; whenAbsent: boolean }
  /** `isEnum`: the engine also reads a number, as the index of a word. */
  | { kind: 'words'; words: readonly string[]; isEnum: boolean }
  | { kind: 'columns' }
  | { kind: 'expression' }
  | { kind: 'environment' }
  | { kind: 'text' }
  /** A list that must be empty. */
  | { kind: 'no-words' };

export interface SectionFormat {
  fields: Readonly<Record<string, FieldFormat>>;
  /** Other spellings that the engine accepts. */
  aliases?: Readonly<Record<string, string>>;
  /** The effect of an absent section, if its absence gives any access. */
  whenAbsent?: { severity: 'warning' | 'info'; meaning: string };
}

const USER: FieldFormat = { kind: 'pattern', nameKind: 'user' };
const GROUP_FIELD: FieldFormat = { kind: 'pattern', nameKind: 'group' };
const ROLE: FieldFormat = { kind: 'pattern', nameKind: 'role' };
const NAME_FIELD: FieldFormat = { kind: 'pattern', nameKind: 'lower-case name' };
const PROPERTY_FIELD: FieldFormat = { kind: 'pattern', nameKind: 'property' };
const IDENTITY_FIELDS = { user: USER, role: ROLE, group: GROUP_FIELD };

function wordsField(allowedWords: readonly string[], isEnum: boolean): FieldFormat {
  return { kind: 'words', words: allowedWords, isEnum };
}

function flagField(whenAbsent: boolean): FieldFormat {
  return { kind: 'flag', whenAbsent };
}

/** All twelve sections, in the order of the engine's documentation. */
export const ENGINE_FORMAT = {
  catalogs: {
    fields: { ...IDENTITY_FIELDS, catalog: NAME_FIELD, allow: { kind: 'catalog-mode' } },
    whenAbsent: { severity: 'warning', meaning: 'everybody may enter every catalog and write there' },
  },
  schemas: {
    fields: { ...IDENTITY_FIELDS, catalog: NAME_FIELD, schema: NAME_FIELD, owner: flagField(false) },
    whenAbsent: { severity: 'warning', meaning: 'everybody owns every schema' },
  },
  tables: {
    fields: {
      ...IDENTITY_FIELDS,
      catalog: NAME_FIELD,
      schema: NAME_FIELD,
      table: NAME_FIELD,
      privileges: wordsField(TABLE_PRIVILEGES, true),
      columns: { kind: 'columns' },
      filter: { kind: 'expression' },
      filter_environment: { kind: 'environment' },
    },
    whenAbsent: { severity: 'warning', meaning: 'everybody has every privilege on every table' },
  },
  functions: {
    fields: {
      ...IDENTITY_FIELDS,
      catalog: NAME_FIELD,
      schema: NAME_FIELD,
      function: NAME_FIELD,
      privileges: wordsField(FUNCTION_PRIVILEGES, true),
      function_kinds: { kind: 'no-words' },
    },
    aliases: { functionKinds: 'function_kinds' },
  },
  procedures: {
    fields: {
      ...IDENTITY_FIELDS,
      catalog: NAME_FIELD,
      schema: NAME_FIELD,
      procedure: NAME_FIELD,
      privileges: wordsField(PROCEDURE_PRIVILEGES, true),
    },
  },
  queries: {
    fields: { ...IDENTITY_FIELDS, queryOwner: USER, allow: wordsField(QUERY_RIGHTS, false) },
    whenAbsent: { severity: 'warning', meaning: 'everybody may run queries, and view and kill those of others' },
  },
  impersonation: {
    fields: { original_user: USER, original_role: ROLE, new_user: { kind: 'new-user' }, allow: flagField(true) },
    aliases: { originalUser: 'original_user', newUser: 'new_user' },
  },
  principals: {
    fields: {
      principal: { kind: 'pattern', nameKind: 'user', isRequired: true },
      user: USER,
      principal_to_user: { kind: 'text' },
      allow: flagField(false),
    },
  },
  system_information: {
    fields: { user: USER, role: ROLE, allow: wordsField(['read', 'write'], false) },
  },
  authorization: {
    fields: {
      original_user: USER,
      original_group: GROUP_FIELD,
      original_role: ROLE,
      new_user: USER,
      // A role that becomes the owner. The format ROLE is for roles of the user.
      new_role: PROPERTY_FIELD,
      allow: flagField(true),
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
    fields: { ...IDENTITY_FIELDS, property: PROPERTY_FIELD, allow: flagField(false) },
    whenAbsent: { severity: 'info', meaning: 'everybody may set every session property' },
  },
  catalog_session_properties: {
    fields: { ...IDENTITY_FIELDS, catalog: NAME_FIELD, property: PROPERTY_FIELD, allow: flagField(false) },
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

/** The end of a message about an unknown word: `; did you mean "…"?`, or empty. */
export function spellingHint(word: string, knownWords: readonly string[]): string {
  const suggestion = closestSpelling(word, knownWords);
  return suggestion === undefined ? '' : `; did you mean "${suggestion}"?`;
}

/** The known word that differs from a word only in case, separators or an ending `s`. */
export function closestSpelling(word: string, knownWords: readonly string[]): string | undefined {
  const normalize = (text: string): string =>
    text
      .toLowerCase()
      .replace(/[^a-z]/g, '')
      .replace(/s$/, '');
  return knownWords.find((each) => normalize(each) === normalize(word));
}
