/** A user as the engine knows it. */
export type Subject =
  | { kind: 'person'; name: string; userId: number; isActive: boolean }
  | { kind: 'engine'; name: string }
  | { kind: 'service-account'; name: string }
  /** A name that the snapshot does not know: nothing ever applies to it. */
  | { kind: 'stranger'; name: string };
