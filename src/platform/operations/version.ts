import { readFileSync } from 'node:fs';

const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
export const { version: VERSION } = JSON.parse(manifest) as { version: string };

/** The User-Agent header, which identifies this build to the engine, the identity provider and the API server of Kubernetes. */
export const USER_AGENT = `grantline/${VERSION}`;
