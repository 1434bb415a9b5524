import { parentPort, workerData } from 'node:worker_threads';
import { type Preparation, prepare } from '../domain/candidate.js';
import { compilerDigest } from './compiler-digest.js';

// The program of a preparation's thread.
parentPort?.postMessage(prepare(workerData as Preparation, compilerDigest()));
