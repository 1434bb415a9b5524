import { Module } from '@nestjs/common';
import { RouteProbe } from './domain/retired-route.js';
import { AxiosRouteProbe } from './infrastructure/axios-route-probe.js';
import { RetiredRouteService } from './retired-route.service.js';

/** Imports no other module, so that `grantline verify-retired-route` needs no settings, no database and no engine. */
@Module({
  providers: [RetiredRouteService, { provide: RouteProbe, useClass: AxiosRouteProbe }],
  exports: [RetiredRouteService],
})
export class RetiredRouteModule {}
