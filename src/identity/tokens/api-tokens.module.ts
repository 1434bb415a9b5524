import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { AuthModule } from '../../auth/auth.module.js';
import { UsersModule } from '../../users/users.module.js';
import { ApiTokensAdministrationController } from './api-tokens-administration.controller.js';
import { ApiTokensController } from './api-tokens.controller.js';
import { ApiTokensMetrics } from './api-tokens.metrics.js';
import { ApiTokensService } from './api-tokens.service.js';
import { ApiTokenStore } from './domain/api-token.js';
import { ApiTokenStrategy } from './infrastructure/api-token.strategy.js';
import { PostgresApiTokenStore } from './infrastructure/postgres-api-token-store.js';

/** Programs, which act for accounts by tokens. */
@Module({
  imports: [AuditModule, UsersModule, AuthModule],
  controllers: [ApiTokensController, ApiTokensAdministrationController],
  providers: [
    ApiTokensService,
    ApiTokensMetrics,
    ApiTokenStrategy,
    { provide: ApiTokenStore, useClass: PostgresApiTokenStore },
  ],
})
export class ApiTokensModule {}
