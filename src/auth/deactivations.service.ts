import { Injectable } from '@nestjs/common';

/** What ends an account's own in a later module, in the transaction that deactivates the account or takes it from its person. */
export type Ending = (userId: number) => Promise<void>;

/** Tells later modules of accounts that are deactivated, or nobody's for the time being. */
@Injectable()
export class DeactivationsService {
  private readonly endings: Ending[] = [];

  /** To be called once, at the start. */
  join(ending: Ending): void {
    this.endings.push(ending);
  }

  async end(userId: number): Promise<void> {
    for (const ending of this.endings) await ending(userId);
  }
}
