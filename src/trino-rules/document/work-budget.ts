import { NamedError } from '../../kernel/errors.js';

/**
 * Bounds what a document may cost, in elementary steps (about ten nanoseconds each) and never in time, so that the same document
 * is always judged alike.
 */
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
