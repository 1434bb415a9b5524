import { parentPort, workerData } from 'node:worker_threads';
import type { Snapshot } from '../../grants/domain/snapshot.js';
import { type Preparation, prepare } from '../domain/candidate.js';
import { compile } from '../compiler/compile.js';
import { compilerDigest } from './compiler-digest.js';

export type Task = { kind: 'prepare'; preparation: Preparation } | { kind: 'compile'; snapshot: Snapshot };

// The program of a preparation's thread.
const task = workerData as Task;
const done = task.kind === 'prepare' ? prepare(task.preparation, compilerDigest()) : compile(task.snapshot).text;
parentPort?.postMessage(done);
