import { DataSource } from 'typeorm';
import { PostgresPublicationHistory } from '../../src/acl-sync/infrastructure/postgres-publication-history.js';
import { DatabaseSession } from '../../src/platform/infrastructure/database-session.js';
import { freshDatabase } from '../support/database.js';
import { FakePublicationHistory } from '../support/fake-publication-history.js';
import { describePublicationHistory } from './publication-history.contract.js';

describePublicationHistory('PostgreSQL', async () => {
  const database = await freshDatabase();
  const source = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  return {
    history: new PostgresPublicationHistory(new DatabaseSession(source)),
    close: async () => {
      await source.destroy();
      await database.drop();
    },
  };
});

describePublicationHistory('memory', () =>
  Promise.resolve({ history: new FakePublicationHistory(), close: () => Promise.resolve() }),
);
