import { parentPort, workerData } from 'node:worker_threads';
import type { Snapshot } from '../../grants/domain/snapshot.js';
import { prepare } from '../domain/candidate.js';

export interface Preparation {
  snapshot: Snapshot;
  limitBytes: number | null;
}

// The program of a preparation's thread.
const { snapshot, limitBytes } = workerData as Preparation;
parentPort?.postMessage(prepare(snapshot, limitBytes));
