import { openCatalogs } from './catalog-doors.js';

describe('catalogs that lead around restrictions', () => {
  const catalogs = [
    { catalog: 'stream', connector: 'kafka' },
    { catalog: 'lake', connector: 'hive' },
    { catalog: 'ice', connector: 'iceberg' },
  ];

  it('are those of the connectors that the settings do not list, with the lines that close them', () => {
    const [lake, stream, ...more] = openCatalogs(catalogs, { externalTableCatalogs: [], rawColumnCatalogs: [] });

    expect(lake).toMatchObject({ code: 'catalog-open', severity: 'warning' });
    expect(lake?.message).toMatch(/^catalog lake \(hive\): .* ACL_EXTERNAL_TABLE_CATALOGS$/);
    expect(lake?.witness?.split('\n')).toEqual([
      'hive.non-managed-table-creates-enabled=false',
      'hive.non-managed-table-writes-enabled=false',
    ]);
    expect(stream?.message).toMatch(/^catalog stream \(kafka\): .* ACL_RAW_COLUMN_CATALOGS$/);
    expect(more).toEqual([]);
  });

  it('are none where they are listed', () => {
    expect(openCatalogs(catalogs, { externalTableCatalogs: ['lake'], rawColumnCatalogs: ['stream'] })).toEqual([]);
  });
});
