import { NamedError } from '../../kernel/errors.js';

/** Limits the work for a document in steps of about ten nanoseconds. It does not measure time, so that equal documents get equal results. */
export class WorkBudget {
  constructor(private remainingSteps = Infinity) {}

  /** @throws BudgetExceeded */
  spend(steps: number): void {
    this.remainingSteps -= steps;
    if (this.remainingSteps < 0) throw new BudgetExceeded();
  }

  canAfford(steps: number): boolean {
    return steps <= this.remainingSteps;
  }
}

export class BudgetExceeded extends NamedError {
  constructor() {
    super('the rules take more steps to judge than their size allows');
  }
}
