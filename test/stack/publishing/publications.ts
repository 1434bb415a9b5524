import type { EngineReader } from './engine-reader.js';
import type { Installation, Replica } from './installation.js';
import type { StoredRules } from './rules-map.js';

/** A write of Grantline's to the ConfigMap, beside the text that was live at that moment. */
export interface Publication {
  version: number;
  text: string | undefined;
  former: string | undefined;
  replaced: string | undefined;
}

/** Among everything that the API server has stored: what came with a new generation. */
export function publicationsIn(stored: readonly StoredRules[]): Publication[] {
  return stored.flatMap(({ text, former, generation }, at) => {
    const before = stored[at - 1];
    if (before === undefined || generation === undefined || generation === before.generation) return [];
    return [{ version: Number(generation), text, former, replaced: before.text }];
  });
}

/**
 * What holds in every story: each write is one published version of the history, each kept the text that it replaced, and the engine
 * has refused nothing of what it read. @returns the publications, oldest first
 */
export async function expectSound(installation: Installation, reader: EngineReader): Promise<Publication[]> {
  const publications = publicationsIn(await reader.caughtUp());
  const recorded = await installation.recorded();
  expect(recorded.filter(({ state }) => state === 'begun')).toEqual([]);
  const published = recorded.filter(({ state }) => state === 'published');
  expect(published.map(({ version, text }) => ({ version, text }))).toEqual(
    publications.map(({ version, text }) => ({ version, text })),
  );
  expect(publications.filter(({ former, replaced }) => replaced !== undefined && former !== replaced)).toEqual([]);
  expect(await reader.refusals()).toEqual([]);
  return publications;
}

/** Lets a person read one more schema. @returns the grant's id */
export async function grantSchema({ administrator }: Replica, user: number, schema: string): Promise<number> {
  const { status, body } = await administrator.post('/api/admin/grants', {
    principal: { type: 'user', id: user },
    resource: { catalog: 'sales', schema },
    privileges: ['SELECT'],
  });
  if (status !== 201) throw new Error(`not granted: ${JSON.stringify(body)}`);
  return Number(body?.['id']);
}
