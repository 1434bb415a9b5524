import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** The version in package.json. */
export const VERSION = manifest.version;

/** Identifies this build to the engine, the identity provider and the API server of Kubernetes. */
export const USER_AGENT = `grantline/${VERSION}`;
