/** Somebody whom the engine can meet, under the name by which it knows them. */
export type Subject =
  | { kind: 'person'; name: string; userId: number; isActive: boolean }
  | { kind: 'engine'; name: string }
  | { kind: 'service-account'; name: string }
  /** A name that the snapshot does not know: nothing ever means it. */
  | { kind: 'stranger'; name: string };
