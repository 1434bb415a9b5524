const LONGEST = 200;
const ANY_JWT = /eyJ[\w-]*(\.[\w-]*){0,2}/g;

/** A foreign text as a log may hold it: one short line without any token in it. */
export function scrubbed(text: string, secret: string | null): string {
  const without = secret === null ? text : text.replaceAll(secret, '[token]');
  return without.replaceAll(ANY_JWT, '[token]').replaceAll(/\s+/g, ' ').trim().slice(0, LONGEST);
}
