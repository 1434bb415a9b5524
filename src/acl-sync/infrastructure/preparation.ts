import { parentPort, workerData } from 'node:worker_threads';
import type { Snapshot } from '../../grants/domain/snapshot.js';
import { prepare } from '../domain/candidate.js';

// The program of a preparation's thread.
parentPort?.postMessage(prepare(workerData as Snapshot));
