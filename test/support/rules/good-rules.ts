/** A file that must not be published, and the code of its finding. */
export interface HostileFile {
  name: string;
  source: string | Uint8Array;
  code: string;
}

export const GOOD: Record<string, readonly Record<string, unknown>[]> = {
  catalogs: [{ user: 'ana', catalog: 'sales', allow: 'all' }],
  schemas: [{ user: 'ana', catalog: 'sales', schema: 'eu', owner: true }],
  tables: [
    {
      user: 'ana',
      catalog: 'sales',
      schema: 'eu',
      table: 'orders',
      privileges: ['SELECT'],
      columns: [{ name: 'card', mask: 'NULL' }],
      filter: 'true',
    },
  ],
  queries: [{ user: 'ana', allow: ['execute'] }],
  impersonation: [{ original_user: 'svc', new_user: 'ana', allow: true }],
  functions: [{ user: 'ana', catalog: 'sales', schema: 'eu', function: 'f', privileges: ['EXECUTE'] }],
  procedures: [{ user: 'ana', catalog: 'sales', schema: 'eu', procedure: 'p', privileges: ['EXECUTE'] }],
  system_information: [{ user: 'ana', allow: ['read'] }],
  system_session_properties: [{ user: 'ana', property: 'query_max_run_time', allow: true }],
  catalog_session_properties: [{ user: 'ana', catalog: 'sales', property: 'x', allow: true }],
};

/** A document with one rule in each section that both the engine and the strict reader take. */
export const GOOD_RULES = JSON.stringify(GOOD);

export function changed(name: string, section: string, fields: Record<string, unknown>, code: string): HostileFile {
  const [rule] = GOOD[section] ?? [];
  return file(name, JSON.stringify({ ...GOOD, [section]: [{ ...rule, ...fields }] }), code);
}

export function without(section: string, key: string): HostileFile {
  const [rule] = GOOD[section] ?? [];
  const left = Object.entries(rule ?? {}).filter(([name]) => name !== key);
  return file(
    `${section} without ${key}`,
    JSON.stringify({ ...GOOD, [section]: [Object.fromEntries(left)] }),
    'rules-value-missing',
  );
}

export function files(code: string, texts: Record<string, string>): HostileFile[] {
  return Object.entries(texts).map(([name, text]) => file(name, text, code));
}

export function file(name: string, source: string, code: string): HostileFile {
  return { name, source, code };
}
