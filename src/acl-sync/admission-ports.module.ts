import { type DynamicModule, Module } from '@nestjs/common';
import { AdmissionProof, SizeForecast } from '../grants/domain/admission-ports.js';
import { Log } from '../platform/log.js';
import type { Settings } from '../platform/settings.js';
import { SeparateAdmissionProof } from './infrastructure/separate-admission-proof.js';
import { PublishedSizeForecast } from './published-size-forecast.service.js';
import { PublishingModule } from './publishing.module.js';

/** The ports of `grants` that compiler, proof and target implement, for commands; in the service `AclSyncModule` provides them. */
@Module({})
export class AdmissionPortsModule {
  static with(settings: Settings): DynamicModule {
    return {
      module: AdmissionPortsModule,
      global: true,
      imports: [PublishingModule.with(settings)],
      providers: [
        { provide: AdmissionProof, useFactory: (log: Log) => new SeparateAdmissionProof(log), inject: [Log] },
        { provide: SizeForecast, useClass: PublishedSizeForecast },
      ],
      exports: [AdmissionProof, SizeForecast],
    };
  }
}
