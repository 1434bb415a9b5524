import { Injectable } from '@nestjs/common';

/**
 * Ends an account's API tokens, which a module above keeps, in the transaction that deactivates the account, that leaves it without a
 * person, or that changes its password. @returns how many
 */
export type Ending = (userId: number) => Promise<number>;

/** Tells later modules of accounts that are deactivated, nobody's for the time being, or have another password. */
@Injectable()
export class DeactivationsService {
  private readonly endings: Ending[] = [];

  /** To be called once, at the start. */
  join(ending: Ending): void {
    this.endings.push(ending);
  }

  /** @returns how many API tokens ended */
  async end(userId: number): Promise<number> {
    let ended = 0;
    for (const ending of this.endings) ended += await ending(userId);
    return ended;
  }
}
