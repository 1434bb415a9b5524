import type { LiveRules, NextRules } from '../domain/rules-target.js';

const HASH = 'grantline.io/rules-hash';
const GENERATION = 'grantline.io/generation';
/** Versions go up to 2^31 - 1: some are left above whatever an edit by hand names. */
const HIGHEST = 2_000_000_000;

/** Which version a target holds, in its own words: annotations of the ConfigMap, or a file beside the rules. */
export function versionAnnotations({ hash, generation, publishedAt }: NextRules): Record<string, string> {
  return {
    [HASH]: hash,
    [GENERATION]: String(generation),
    'grantline.io/published-at': publishedAt.toISOString(),
  };
}

/** Anyone who may edit the target may have written them, so anything that is no version is ignored. */
export function writtenOf(annotations: Readonly<Record<string, unknown>>): Pick<LiveRules, 'written'> {
  const [generation, hash] = [annotations[GENERATION], annotations[HASH]];
  if (typeof generation !== 'string' || !/^[1-9][0-9]{0,9}$/.test(generation)) return {};
  if (typeof hash !== 'string' || !/^[0-9a-f]{1,64}$/.test(hash)) return {};
  return Number(generation) > HIGHEST ? {} : { written: { generation: Number(generation), hash } };
}
