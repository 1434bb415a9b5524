import type { FlowSecrets } from './identity-provider.js';

/** Milliseconds in which somebody can sign in at the provider. */
export const FLOW_MS = 600_000;

/** Milliseconds in which a web client can exchange its code. */
export const CODE_MS = 60_000;

/** What travels to the provider and back as `state`, sealed: so that also a failure finds its way back, without a cookie. */
export interface FlowState {
  returnTo: string;
  /** Milliseconds since 1970. */
  startedAt: number;
}

/** What the browser keeps meanwhile, sealed. */
export interface FlowCookie extends FlowSecrets {
  /** The web client's own (RFC 7636, S256); null: it is our console, which gets a session's cookie and no code. */
  challenge: string | null;
}
