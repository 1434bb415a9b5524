import { NamedError } from '../../kernel/errors.js';

/** Limits the work for a document in steps of about ten nanoseconds. Never in time, so that a document is always judged alike. */
export class WorkBudget {
  /** @param left steps that may still be spent */
  constructor(private left = Infinity) {}

  /** @throws BudgetExceeded */
  spend(steps: number): void {
    this.left -= steps;
    if (this.left < 0) throw new BudgetExceeded();
  }

  canAfford(steps: number): boolean {
    return steps <= this.left;
  }
}

export class BudgetExceeded extends NamedError {
  constructor() {
    super('the rules take more steps to judge than their size allows');
  }
}
