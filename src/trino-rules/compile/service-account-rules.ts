import type { RulesDocument } from '../document/rules-document.js';
import type { SnapshotSettings } from '../model/snapshot.js';
import { EVERY_ROW } from './access-state.js';
import { FILTERED_SYSTEM_SCHEMAS, SYSTEM, TABLE_PRIVILEGES } from './engine-terms.js';
import { anyOf } from './name-pattern.js';

type ServiceAccountRules = Pick<RulesDocument, 'catalogs' | 'schemas' | 'tables' | 'catalog_session_properties'>;

/**
 * What the settings give the service accounts: everything in writable catalogs, reading in readable ones, and rules in all
 * three sections, because one missing section denies everything there.
 */
export function serviceAccountRules(settings: SnapshotSettings): ServiceAccountRules {
  const user = anyOf(settings.serviceAccounts);
  const open = (catalog: string) => catalog !== settings.metadataCatalog && catalog !== SYSTEM;
  const writable = settings.writableCatalogs.filter(open);
  const readable = settings.readableCatalogs.filter((catalog) => open(catalog) && !writable.includes(catalog));
  const rule = <T extends object>(catalogs: string[], gives: T) =>
    catalogs.length > 0 ? [{ user, catalog: anyOf(catalogs), ...gives }] : [];
  return {
    catalogs: [
      ...rule(writable, { allow: 'all' } as const),
      ...rule(readable, { allow: 'read-only' } as const),
      ...rule([SYSTEM], { allow: 'read-only' } as const),
    ],
    schemas: [
      ...rule(writable, { owner: true }),
      ...rule(readable, { owner: false }),
      ...rule([SYSTEM], { owner: false }),
    ],
    tables: [
      ...rule(writable, { privileges: [...TABLE_PRIVILEGES] }),
      ...rule(readable, {
        privileges: ['SELECT' as const],
        ...(settings.readersMaintain ? {} : { filter: EVERY_ROW }),
      }),
      ...rule([SYSTEM], { schema: anyOf(FILTERED_SYSTEM_SCHEMAS), privileges: ['SELECT' as const] }),
    ],
    catalog_session_properties: rule([...writable, ...readable], { allow: true }),
  };
}
