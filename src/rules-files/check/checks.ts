import type { Severity } from '../../trino-rules/document/finding.js';

interface Check {
  severity: Severity;
  isRefused: boolean;
  /** The effect of the finding on the engine, and the cure; one paragraph. */
  explanation: string;
}

const errorCheck = check('error');
const warningCheck = check('warning');
const infoCheck = check('info');

function check(severity: Severity): (explanation: string) => Check {
  return (explanation) => ({ severity, isRefused: false, explanation });
}

/** A check for files that the engine refuses. Its explanation is the problem, the refusal and the cure. */
function refusalCheck(problem: string, cure = ''): Check {
  const explanation = `${problem} The engine refuses the whole file: every statement of every user fails until it is repaired. ${cure}`;
  return { severity: 'error', isRefused: true, explanation: explanation.trim() };
}

const CHECKS = {
  'file-unreadable': errorCheck(
    'The file does not exist, may not be read, or is a folder. Nothing of it is checked, and the exit code is 2.',
  ),
  'json-syntax': refusalCheck('The text is not JSON, from this place on.', 'Nothing behind the place is checked.'),
  'json-comment': refusalCheck('JSON has no comments.', 'Remove the comment.'),
  'json-trailing-comma': refusalCheck('A comma stands before a closing bracket.', 'Remove the comma.'),
  'json-trailing-text': refusalCheck('Something stands behind the end of the document.', 'Remove it.'),
  'json-duplicate-key': errorCheck(
    'A key stands twice in one object. The engine uses the last one and ignores the others without a word, so that a whole section can be lost. Join the two.',
  ),
  'json-lone-surrogate': warningCheck(
    'A text holds half a surrogate pair, which no name can hold. The engine accepts it, and it never matches.',
  ),
  'json-encoding': refusalCheck('The file is not UTF-8.', 'Save it as UTF-8.'),
  'json-byte-order-mark': warningCheck(
    'The file begins with a byte order mark, or is UTF-16. This engine guesses the encoding; JSON is UTF-8 without a mark (RFC 8259), and other tools refuse the file. Save it as UTF-8 without a mark.',
  ),
  'rules-wrong-type': refusalCheck('A value has another type than the engine expects there.'),
  'rules-section-unknown': refusalCheck(
    "The document has a key that is none of the engine's twelve sections.",
    'Names are case-sensitive; "session_properties" belongs to the rules of a single catalog, not here. Of a document in which "security.json-pointer" names the rules, give that part alone.',
  ),
  'rules-section-not-a-list': refusalCheck('A section is something else than a list of rules.'),
  'rules-section-null': errorCheck(
    'A section is null, which the engine reads as absent; what it puts in its place is often "everybody may". Write a list; an empty one denies everything.',
  ),
  'rules-section-missing': warningCheck(
    "Without this section everybody has what it is about: entry to every catalog, ownership of every schema, every privilege on every table, or other people's queries. Write the section; an empty list denies everything.",
  ),
  'rules-section-default': infoCheck(
    'Without this section everybody may set session properties. Write the section to restrict that; an empty list denies it.',
  ),
  'rules-of-one-catalog': infoCheck(
    'No section and no rule is about catalogs, as in the rules of a single catalog (`hive.security=file` and the like), which are another dialect: `session_properties`, no `catalog`. With --single-catalog the file is read as such. Without, it is judged as the rules of the whole cluster.',
  ),
  'rules-all-open': errorCheck(
    'The document has no section at all. The engine accepts it, and everybody may read and write everything.',
  ),
  'rules-queries-closed': warningCheck(
    'No rule of "queries" allows execute, to anybody or to people whom table rules give something: they can run nothing, not even SELECT 1. Give them execute. Reported once a file.',
  ),
  'rules-listings-closed': infoCheck(
    'Somebody reads tables, but not the schema `jdbc` of the catalog `system`, by which JDBC drivers list catalogs, schemas and tables: DBeaver, Tableau and others show none. Add `{"catalog": "system", "schema": "jdbc", "privileges": ["SELECT"]}` to the tables; what it lists is filtered by the other rules. Reported once a file.',
  ),
  'rules-key-unknown': refusalCheck(
    'A rule has a key that its section does not know, comments such as "_comment" among them.',
  ),
  'rules-null': errorCheck(
    'A field is null, which the engine reads as absent: a pattern then matches every name. Write the pattern, or leave the field out if that is meant.',
  ),
  'rules-value-missing': refusalCheck('A field that the engine needs is absent.'),
  'rules-value-defaulted': warningCheck(
    'A rule does not say what it gives, and the engine takes false for it: the rule denies. Write the field.',
  ),
  'rules-value-unknown': refusalCheck(
    'A word is none of those that the engine knows here.',
    'There is no privilege ALL: list them.',
  ),
  'rules-value-repeated': infoCheck('A list names the same word twice. The engine ignores the second.'),
  'rules-value-coerced': errorCheck(
    'A number or a text stands where another type belongs, and the engine turns it into one: a number in "privileges" is a place in its own enumeration, "true" becomes true, 5 becomes the pattern "5". A later release may read it otherwise or refuse it. Write the value itself.',
  ),
  'rules-pattern-empty': errorCheck(
    'A pattern is the empty text, which the engine reads as absent: it matches everybody or everything. Templates with an empty variable make this. Leave the field out if that is meant.',
  ),
  'rules-pattern-invalid': refusalCheck(
    'A pattern is no regular expression of Java.',
    'Any text is `.*`, not `*`; a brace is `[{]`; `{user}` is newer than Trino 483.',
  ),
  'rules-text-empty': errorCheck(
    'A filter, a mask or a column name is empty. The engine keeps an empty expression, and every query that it concerns fails.',
  ),
  'rules-column-case': errorCheck(
    "The engine's column names are lower-case and are compared as they are written: this column is neither hidden nor masked. Write it in lower case.",
  ),
  'rules-column-repeated': refusalCheck('A rule names the same column twice.', 'Join the two entries.'),
  'rules-new-user-unsafe': errorCheck(
    '"new_user" is a replacement text before it is a pattern. A single backslash is eaten, so that `a\\.b` also allows `axb`; any $ that is no group of "original_user" makes every impersonation check that reaches the rule fail. Write a dot as `[.]`, and no `$` except `$1` and the like.',
  ),
  'rules-query-owner-execute': refusalCheck(
    '"queryOwner" is about viewing and killing; running a query has no owner.',
    'Make two rules of it.',
  ),
  'pattern-read-differently': warningCheck(
    'Java reads this construct unlike JavaScript, Python or Go (a quotation, a property, a bracket at the start of a class). What another tool says about the pattern is not what the engine does. Write it with plain classes.',
  ),
  'pattern-java-only': infoCheck('The engine reads this construct (inline flags); other tools refuse it.'),
  'pattern-not-judged': warningCheck(
    'The pattern has a construct that this check does not read (look-behind, back-references, boundaries, classes in classes, `\\N{…}`, look-aheads of hundreds of characters and other rare ones). The engine may read it, or refuse the whole file, and what the rule matches is not judged. Write it with plain characters, classes and groups.',
  ),
  'pattern-case': warningCheck(
    'Names of catalogs, schemas, tables, functions and procedures reach the rules in lower case, and patterns are compared with case: this one matches nothing. Write it in lower case.',
  ),
  'pattern-alternation': infoCheck(
    'A pattern is matched with the whole name, and | divides all of it: `a|b.*` is the name a, or all that begins with b. If all alternatives should have the ending, write `(a|b).*`.',
  ),
  'pattern-glob': warningCheck(
    'The star repeats the letter before it: `sales_*` is `sales`, `sales_`, `sales__` and nothing else. Any text is `.*`: `sales_.*`.',
  ),
  'pattern-bare-dot': infoCheck(
    'A dot matches any character: `ana@example.org` also matches `ana@exampleXorg`. Write `[.]` where names can be chosen.',
  ),
  'pattern-blank': warningCheck(
    'White space at the ends of a pattern is part of it, so it matches only names that have it, too.',
  ),
  'rule-role': warningCheck(
    'The file access control has no roles, and a rule with one never matches. Use "user" or "group".',
  ),
  'rule-group': infoCheck(
    'A rule with a group matches only users of whom a group provider (group-provider.name) says that they are in it. Without a provider it never matches, `.*` included. Reported once a file.',
  ),
  'rule-allows-everybody': warningCheck(
    'The rule has no condition that anybody fails, and gives all that its section can give.',
  ),
  'rule-owner-mode': warningCheck(
    'The mode "owner" is accepted, but documented nowhere. Unlike "all" it allows CREATE CATALOG and DROP CATALOG.',
  ),
  'rule-principals': infoCheck(
    'The section "principals" is deprecated. Write "impersonation" rules, and let the authenticator map principals to users.',
  ),
  'dead-rule': warningCheck(
    'The first rule that matches decides, and earlier rules match whatever this one matches, so it is never asked. Move it up, narrow the earlier one, or remove it. The witness is a rule that decides instead. Rules of the deprecated section "principals" are not judged.',
  ),
  'dead-rule-undecided': infoCheck(
    'Whether the rule ever decides was not found out within the budget of the check: its patterns, or those before it, are too intricate.',
  ),
  'rule-without-entry': warningCheck(
    'The rule gives people something in catalogs that the section "catalogs" lets them not enter: nothing comes of it. Everybody enters `system` that no rule shuts. Let them enter, or remove the rule.',
  ),
  'rule-read-only': warningCheck(
    'The rule gives writing, ownership or GRANT_SELECT (which the owner of a view needs to share it) to people whom "catalogs" lets only read in all of its catalogs: these rights are without effect. Write `"allow": "all"` there, or leave them out.',
  ),
  'many-table-rules': warningCheck(
    'The engine scans the table rules for each object that it lists. Thousands of them make SHOW TABLES and BI tools slow. Give access by schema, and use patterns.',
  ),
  'expression-syntax': errorCheck(
    'A filter or mask is no expression of SQL: text or parentheses that never end, a semicolon, WHERE, `==`. The engine loads it, and every statement that reads the table fails for these people. Write one expression, as behind WHERE or SELECT; names and types are checked by the engine alone.',
  ),
  'expression-hidden-column': errorCheck(
    'A filter or mask reads a column that the same rule hides. It is checked as the reader, so that every statement that reads the table fails. Mask the column instead, `{"name": "ssn", "mask": "NULL"}`: filters still see its real value. Or give the expression another identity (`filter_environment`, `mask_environment`).',
  ),
  'expression-write': warningCheck(
    'The engine refuses INSERT, UPDATE and DELETE beside a column mask, also where the column is hidden, and UPDATE beside a row filter, `true` included. Leave these privileges out, or the filter and the masks.',
  ),
  'expression-every-table': infoCheck(
    'A filter stands in a rule for every table of a catalog. Where a table has no column of its names, every statement that reads it fails. Name the schemas or tables that have them, and close the others by a rule of their own.',
  ),
  'door-companion': warningCheck(
    'Somebody who may not read a table, or not all of it, reads its companion tables (`orders$files`, `orders$partitions`, `mv$materialized_view_storage`), which a wider rule gives: the lowest and highest value of every column of every file, partition values, or all rows of a view. Begin the pattern of a rule that closes a table with its name and `([$].*)?`; before a rule that restricts one, close `orders[$].*` for the same people; in a restricted schema, `.*[$].*`. Reading the table needs none of them. Filtered rules count as closed there, as companions lack the column.',
  ),
  'door-procedure': warningCheck(
    'ALTER TABLE … EXECUTE asks SELECT alone: whoever reads an Iceberg table rolls it back to an empty snapshot, for everybody, or expires the others. The engine refuses it where the rule has a row filter, or masks a column that the table has: write `"filter": "true"` in rules that give reading and nothing more. Answers and plans stay the same. All such rules are one finding.',
  ),
  'door-truncate': warningCheck(
    'TRUNCATE TABLE asks DELETE and no filter: it removes the rows of everybody. Leave DELETE out beside a filter or mask; beside a mask the engine refuses the statement DELETE in any case.',
  ),
  'door-storage-column': warningCheck(
    'Beside a masked or hidden column, `"$path"`, `"$partition"` and `"$bucket"` show or tell its values where tables are partitioned or bucketed by it. Hide them in the same rule: `{"name": "$path", "allow": false}`; the engine ignores columns that a table lacks. In the catalogs of --raw-column-catalog (ACL_RAW_COLUMN_CATALOGS: Kafka, Elasticsearch, OpenSearch, Redis) also `_message`, `_key`, `_headers`, `_source` and `_value`.',
  ),
  'door-filter': warningCheck(
    "The engine makes a join of the row filter, and a reader's own predicate may run before it: an error's text then prints rows outside. Write a list of values, or `contains((SELECT array_agg(x) …), column)`; on catalogs over JDBC only comparisons of columns with constants are safe.",
  ),
  'door-files': warningCheck(
    "Whoever owns tables in a catalog over shared files makes one over the files of a table that is restricted there, and reads them. Give no OWNERSHIP in such a catalog to people with a restriction anywhere in it, or close it in the catalog's own file (`hive.non-managed-table-creates-enabled=false`, no `iceberg.add-files-procedure.enabled`). Checked for --external-table-catalog (ACL_EXTERNAL_TABLE_CATALOGS).",
  ),
  'door-undecided': infoCheck(
    'Not all rules were asked for doors, and for effects of other sections: they are too intricate for the budget of the check.',
  ),
  'invariant-section-missing': errorCheck(
    'A service account needs a rule in each of "catalogs", "schemas" and "tables"; where a section has none, it is denied everything there. Checked for --service-account (ACL_SERVICE_ACCOUNTS).',
  ),
  'invariant-writable-catalog': errorCheck(
    'In a writable catalog the first rule that matches a service account must give it the mode all, ownership of every schema, and OWNERSHIP and GRANT_SELECT on every table; otherwise CREATE TABLE and CREATE VIEW are refused. A narrow earlier rule beats a broader later one. Checked for --writable-catalog (ACL_WRITABLE_CATALOGS).',
  ),
  'invariant-readable-catalog': errorCheck(
    'In a readable catalog a service account must be able to SELECT. Checked for --readable-catalog (ACL_READABLE_CATALOGS).',
  ),
  'invariant-metadata-catalog': errorCheck(
    "Nobody may be given anything in the service's own metadata catalog, and no rule that gives a service account anything may match it. Checked for --metadata-catalog (ACL_METADATA_CATALOG).",
  ),
  'manifest-syntax': errorCheck(
    'The manifest is not YAML, or not JSON, at this place; Kubernetes refuses it. Templates must be rendered first (helm template).',
  ),
  'manifest-without-rules': errorCheck(
    'The file holds manifests, but no ConfigMap or Secret with a rules file (rules.json, or a .json key with a section of rules) and no values of a chart with one, alone or in a HelmRelease, an Application or a Kustomization, so nothing was checked.',
  ),
  'config-map-not-text': errorCheck(
    'The value of rules.json is YAML of its own instead of a text. Kubernetes refuses it; write a block: "rules.json: |".',
  ),
  'config-map-backup-only': errorCheck(
    'The ConfigMap holds former rules (.bak), but no rules. The engine reads only rules.json: it does not start, or refuses every statement.',
  ),
  'config-map-backup-broken': warningCheck(
    'The former rules cannot be read, or the engine would refuse or misread them. Putting them back would be the next outage.',
  ),
  'config-map-immutable': warningCheck(
    'An immutable ConfigMap cannot be changed, only deleted and made anew: neither Grantline nor kubectl can publish rules to it.',
  ),
  'mount-sub-path': warningCheck(
    'A volume that is mounted by subPath is never updated while the pod lives. Mount the whole ConfigMap as a folder.',
  ),
  'too-large': errorCheck(
    'The values of a ConfigMap take at most 1,048,576 bytes together, the former rules included. The API server refuses this one.',
  ),
  'nearly-too-large': warningCheck(
    'The ConfigMap is filled by more than 60 %. Rules and former rules share 1,048,576 bytes; give access to groups instead of single users, and on schemas instead of tables.',
  ),
  'file-size': infoCheck(
    'The rules alone take more than 60 % of what a ConfigMap holds. From a file or a URL the engine reads rules of any size.',
  ),
  'invariant-undecided': infoCheck(
    'The invariants were not checked: a pattern uses look-around or the like, or the rules are too intricate.',
  ),
} satisfies Record<string, Check>;

export type CheckCode = keyof typeof CHECKS;

export function severityOf(code: CheckCode): Severity {
  return CHECKS[code].severity;
}

export function isRefused(code: CheckCode): boolean {
  return CHECKS[code].isRefused;
}

export function checkOf(code: string): Check | null {
  return Object.entries<Check>(CHECKS).find(([each]) => each === code)?.[1] ?? null;
}

export function checkCodes(): string[] {
  return Object.keys(CHECKS);
}

/** A finding about a rules file. `at` is the UTF-16 offset of a value, a key, or a rule's brace. */
export interface PlacedFinding {
  code: CheckCode;
  message: string;
  at: number;
  /** The place of the rule, such as `tables[12]`. */
  rule?: string;
  witness?: string;
}

export type ReportFinding = (code: CheckCode, message: string, at: number) => void;
