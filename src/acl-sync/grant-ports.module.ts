import { type DynamicModule, Module } from '@nestjs/common';
import { AdmissionProof, SizeForecast } from '../grants/domain/admission-ports.js';
import { PublishedRules } from '../grants/domain/published-rules.js';
import { Log } from '../platform/log.js';
import { SeparateAdmissionProof } from './infrastructure/separate-admission-proof.js';
import { PublishedRulesService } from './published-rules.service.js';
import { PublishedSizeForecast } from './published-size-forecast.service.js';

/** The ports of `grants`, an earlier module, that compiler, proof, target and history implement. */
@Module({})
export class GrantPortsModule {
  /** @param publishing the one that the process has */
  static with(publishing: DynamicModule): DynamicModule {
    return {
      module: GrantPortsModule,
      global: true,
      imports: [publishing],
      providers: [
        { provide: AdmissionProof, useFactory: (log: Log) => new SeparateAdmissionProof(log), inject: [Log] },
        { provide: PublishedRules, useClass: PublishedRulesService },
        { provide: SizeForecast, useClass: PublishedSizeForecast },
      ],
      exports: [AdmissionProof, PublishedRules, SizeForecast],
    };
  }
}
