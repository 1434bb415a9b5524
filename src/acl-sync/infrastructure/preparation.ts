import { type PreparationTask, preparationTasks, runTask } from '../domain/preparation-tasks.js';
import { compilerDigest, type PreparationAnswer } from './preparation-process.js';

const TASKS = preparationTasks(compilerDigest());

// Entry point of the child process, which ends when its channel to the service closes.
process.on('message', (task: PreparationTask) => process.send?.(answerTo(task)));
process.on('disconnect', () => process.exit());

function answerTo(task: PreparationTask): PreparationAnswer<unknown> {
  try {
    return { result: runTask(TASKS, task) };
  } catch (error) {
    return { thrown: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
