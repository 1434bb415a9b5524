import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { AuthModule } from '../../auth/auth.module.js';
import { UsersModule } from '../../users/users.module.js';
import { ApiTokenStore } from './api-token.store.js';
import { ApiTokenStrategy } from './api-token.strategy.js';
import { ApiTokensAdministrationController, ApiTokensController } from './api-tokens.controller.js';
import { ApiTokensService } from './api-tokens.service.js';

/** Tokens with which programs act for accounts. */
@Module({
  imports: [AuditModule, UsersModule, AuthModule],
  controllers: [ApiTokensController, ApiTokensAdministrationController],
  providers: [ApiTokenStore, ApiTokensService, ApiTokenStrategy],
})
export class ApiTokensModule {}
