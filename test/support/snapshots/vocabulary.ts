/** Hostile names: signs of patterns and of SQL, letters outside ASCII, one a prefix, a tail or a digit of another. */
const NODES = [
  ...['a', 'ab', 'abc', 'b', 'bc', 'c', '1', '10', '11', '12', '2', '20', 'eu', 'eu1', 'eu_1', 'eu_2', 'us_1', 'us_2'],
  ...[
    'e.u',
    'e(u|x)',
    'a-b',
    'a b',
    'a_b',
    'x$y',
    'x$1',
    'back\\slash',
    'say "hi"',
    "o'neil",
    '[q]',
    '^q$',
    'q^',
    '.*',
  ],
  ...['t*', 't+', 't?', 't{2}', '{user}', '&&', '#', '-', 'naïve', 'naïf', '日本', '日', '😀', '😁', '😀😁', 'jdbc'],
];
const PEOPLE = [
  'ana',
  'Ana2',
  'an',
  'a',
  'bo',
  'bob',
  'cy_1',
  'cy_2',
  'cy_10',
  'cy_11',
  'cy_20',
  'Dee',
  'Zoë',
  '😀',
  'k.l',
  'kxl',
  'x$y',
  'b\\c',
  'k^',
];
export const ENGINES = ['etl-job', 'svc.report', 'svcxreport', 'bot|ana', '.*', 'job$1', 'ci\\cd'];
const COLUMNS = ['id', 'i', 'e-mail', 'größe', '$path', '_key'];
/** In each family some begin another, or differ from it by white space, quotes or case alone. */
const EXPRESSION_FAMILIES = [
  ["region = 'EU'", "region = 'EU' AND year > 2020", "region = 'EU' ", "region  = 'EU'"],
  [
    "region = 'EU'",
    "REGION = 'EU'",
    "region = 'eu'",
    `"region" = 'EU'`,
    "(region = 'EU')",
    "(region = 'EU') AND (true)",
  ],
  ['true', 'true OR a', 'true AND NOT a', 'TRUE', "note <> '\\'", "note = 'it''s'", "note = ') AND ('"],
  ['id IN (1, 2)', 'id IN (1, 2) OR id = 3', 'id IN (1,2)', 'id IN (1, 2)+0', 'id', 'constructor', 'valueOf'],
];

/** The words that snapshots are drawn from; no user, engine principal and service account share a name, in any case. */
export interface Vocabulary {
  people: readonly string[];
  engines: readonly string[];
  nodes: readonly string[];
  columns: readonly string[];
  /** One family per snapshot. */
  expressions: readonly (readonly string[])[];
}

export const VOCABULARY: Vocabulary = {
  people: PEOPLE,
  engines: ENGINES,
  nodes: NODES,
  columns: COLUMNS,
  expressions: EXPRESSION_FAMILIES,
};
