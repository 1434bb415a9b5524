import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { SweepService } from './sweep.service.js';

@Injectable()
export class SweepScheduler {
  constructor(private readonly sweeping: SweepService) {}

  @Cron('7 * * * *', { name: 'auth-sweep', waitForCompletion: true })
  async sweep(): Promise<void> {
    await this.sweeping.sweep();
  }
}
