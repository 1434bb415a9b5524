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

/** Why somebody goes to the provider. */
export type FlowPurpose =
  /** For a session. `challenge`: the web client's own (RFC 7636, S256); null: it is our console, which gets a cookie and no code. */
  | { kind: 'sign-in'; challenge: string | null; isAnew: boolean }
  /** To prove once more whose a session of the console is. Its cookie does not come along from the provider's site. */
  | { kind: 'confirm'; userId: number; sessionId: string }
  /** To make the person theirs who has a password here. */
  | { kind: 'link'; userId: number; sessionId: string };

/** What the browser keeps meanwhile, sealed. */
export interface FlowCookie extends FlowSecrets {
  purpose: FlowPurpose;
}
