import { catalogDoors } from './catalog-doors.js';

describe('catalogs that lead around restrictions', () => {
  const catalogs = [
    { catalog: 'stream', connector: 'kafka' },
    { catalog: 'lake', connector: 'hive' },
    { catalog: 'ice', connector: 'iceberg' },
  ];

  it('are those of the connectors that the settings do not list', () => {
    const doors = catalogDoors(catalogs, { externalTableCatalogs: [], rawColumnCatalogs: [] });

    expect(doors.map(({ catalog, setting }) => [catalog, setting])).toEqual([
      ['lake', 'ACL_EXTERNAL_TABLE_CATALOGS'],
      ['stream', 'ACL_RAW_COLUMN_CATALOGS'],
    ]);
  });

  it('are none where they are listed', () => {
    expect(catalogDoors(catalogs, { externalTableCatalogs: ['lake'], rawColumnCatalogs: ['stream'] })).toEqual([]);
  });
});
