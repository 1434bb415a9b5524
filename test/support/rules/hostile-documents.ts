import { NO_RULES, type RulesDocument, type TableRule } from '../../../src/trino-rules/document/rules-document.js';

/** Texts of about one mebibyte that ask for as much work as so many bytes can: readable, but for the last two. */
export function hostileDocuments(): Record<string, string> {
  const three = '[a-z][a-z][a-z]';
  const select = { privileges: ['SELECT'] } satisfies Partial<TableRule>;
  const names = (count: number, letter: string) =>
    Array.from({ length: count }, (_, i) => `${letter}${i.toString(36)}`);
  const perRule = (count: number, rule: (i: number) => TableRule): string =>
    text({ tables: Array.from({ length: count }, (_, i) => rule(i)) });
  return {
    'users of four letters': text({ queries: [{ user: three + '[a-z]', allow: ['execute'] }] }),
    'many sets of thousands of users': perRule(9_000, (i) => ({ user: `${i}[a-z][a-z]`, catalog: 'a', ...select })),
    'users that overlap': perRule(9_000, (i) => ({
      user: `[a-z][a-z][0-9]|${i}`,
      catalog: 'a',
      table: `t${i}`,
      ...select,
    })),
    'a product of schemas and tables': text({ tables: [{ catalog: 'a', schema: three, table: three, ...select }] }),
    'any catalog, any schema': text({
      catalogs: [{ catalog: three, allow: 'all' }],
      schemas: [{ schema: three, owner: true }],
      tables: [{ table: three, ...select }],
    }),
    'a mask for all users on each of many columns': text({
      tables: [{ ...select, columns: names(30_000, 'c').map((name) => ({ name, mask: 'NULL' })) }],
      queries: [{ user: '[a-z][a-z][a-z]', allow: ['execute'] }],
    }),
    'a column for each of many people': perRule(12_000, (i) => ({
      user: `u${i}`,
      ...select,
      columns: [{ name: `c${i}`, mask: `${i}` }],
    })),
    'a filter for each of many people': perRule(16_000, (i) => ({ user: `u${i}`, ...select, filter: `(${i})` })),
    'conjuncts without end': perRule(200, (i) => ({
      user: `u${i}`,
      ...select,
      filter: names(600, 'x')
        .map((name) => `(${name})`)
        .join(' AND '),
    })),
    'the same rule again and again': perRule(25_000, () => ({ user: 'a|b', ...select })),
    'schemas and tables of a service account': perRule(12_000, (i) => ({
      user: 'service-account-grantline',
      catalog: 'lake',
      schema: `s${i}`,
      table: `t${i}`,
      ...select,
    })),
    'any user impersonates any user': text({
      impersonation: names(14_000, 'u').map((user) => ({ original_user: user, new_user: `${user}x`, allow: true })),
    }),
    'routines in every schema': text({
      functions: [
        { catalog: three, schema: three, privileges: ['EXECUTE'] },
        { function: three, privileges: ['EXECUTE'] },
      ],
    }),
    'properties of the session': text({
      system_session_properties: names(12_000, 'p').flatMap((property) => [
        { property, allow: true },
        { allow: false },
      ]),
    }),
    'markers that are denied again and again': text({
      system_session_properties: Array.from({ length: 12_000 }, () => ({
        property: 'grantline_rules_.*',
        allow: false,
      })),
    }),
    'properties of catalogs': text({
      catalog_session_properties: [
        { catalog: three, allow: true },
        ...names(12_000, 'p').map((property) => ({ property, allow: true })),
      ],
    }),
    'one long name in many ways': text({ tables: [{ table: `${'x'.repeat(900_000)}${three}`, ...select }] }),
    'one long name in some ways': text({ tables: [{ table: `${'x'.repeat(900_000)}[a-z][a-e]`, ...select }] }),
    'some long users': text({ tables: [{ user: `${'x'.repeat(900_000)}[a-z][a-e]`, ...select }] }),
    'long names of many ends': text({
      tables: [
        {
          table: `${'x'.repeat(900_000)}(${names(600, 'e')
            .map((e) => `${e}.*`)
            .join('|')})`,
          ...select,
        },
      ],
    }),
    'a name with many spellings': text({ tables: [{ user: 'a?'.repeat(400_000), ...select }] }),
    'brackets in brackets': text({ tables: [{ user: `${'('.repeat(199)}a${')?'.repeat(198)})`, ...select }] }),
    'rules without anything': `{"tables":[${'{},'.repeat(340_000)}{}]}`,
    'arrays in arrays': '['.repeat(1_000_000),
  };
}

function text(rules: Partial<RulesDocument>): string {
  return JSON.stringify({ ...NO_RULES, ...rules });
}
