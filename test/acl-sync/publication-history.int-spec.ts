import { DataSource } from 'typeorm';
import { PostgresPublicationHistory } from '../../src/acl-sync/infrastructure/postgres-publication-history.js';
import { DatabaseSession } from '../../src/platform/database/database-session.js';
import { freshDatabase } from '../support/database/database.js';
import { FakePublicationHistory } from '../support/fakes/fake-publication-history.js';
import { describeBaseline } from './baseline.contract.js';
import { describePublicationHistory, type HistoryUnderTest } from './publication-history.contract.js';
import { describeRunHistory } from './run-history.contract.js';

const HISTORIES: Record<string, () => Promise<HistoryUnderTest>> = {
  PostgreSQL: async () => {
    const database = await freshDatabase();
    const source = await new DataSource({ type: 'postgres', url: database.url }).initialize();
    return {
      history: new PostgresPublicationHistory(new DatabaseSession(source)),
      close: async () => {
        await source.destroy();
        await database.drop();
      },
    };
  },
  memory: () => Promise.resolve({ history: new FakePublicationHistory(), close: () => Promise.resolve() }),
};

for (const [name, open] of Object.entries(HISTORIES))
  for (const describeHistory of [describePublicationHistory, describeBaseline, describeRunHistory])
    describeHistory(name, open);
