import { Module } from '@nestjs/common';
import { JwtModule } from '@nestjs/jwt';
import { AuditModule } from '../audit/audit.module.js';
import { UsersModule } from '../users/users.module.js';
import { AdministrationController } from './administration.controller.js';
import { AdministrationService } from './administration.service.js';
import { AdministratorsWatchService } from './administrators-watch.service.js';
import { AuthController } from './auth.controller.js';
import { DeactivationsService } from './deactivations.service.js';
import { SessionStore } from './domain/session.js';
import { AccessTokenStrategy } from './infrastructure/access-token.strategy.js';
import { BrowserSessionStrategy } from './infrastructure/browser-session.strategy.js';
import { PostgresSessionStore } from './infrastructure/postgres-session-store.js';
import { SigningKey } from './infrastructure/signing-key.js';
import { PasswordsController } from './passwords.controller.js';
import { PasswordsService } from './passwords.service.js';
import { RefreshesService } from './refreshes.service.js';
import { RegistrationModule } from './registration.module.js';
import { SessionUsesService } from './session-uses.service.js';
import { SessionsController } from './sessions.controller.js';
import { SessionsService } from './sessions.service.js';
import { SignInMetrics } from './sign-in.metrics.js';
import { SignInService } from './sign-in.service.js';
import { SweepService } from './sweep.service.js';
import { TokensService } from './tokens.service.js';

@Module({
  imports: [
    AuditModule,
    UsersModule,
    RegistrationModule,
    JwtModule.registerAsync({
      extraProviders: [SigningKey],
      inject: [SigningKey],
      useFactory: ({ key }: SigningKey) => ({
        secretOrKeyProvider: () => key,
        signOptions: { algorithm: 'HS256' },
        // Times are judged by claims.ts, by the clock that was handed in.
        verifyOptions: { algorithms: ['HS256'], ignoreExpiration: true },
      }),
    }),
  ],
  controllers: [AuthController, SessionsController, PasswordsController, AdministrationController],
  providers: [
    SignInService,
    SignInMetrics,
    SessionsService,
    RefreshesService,
    SessionUsesService,
    PasswordsService,
    AdministrationService,
    AdministratorsWatchService,
    DeactivationsService,
    SweepService,
    TokensService,
    SigningKey,
    AccessTokenStrategy,
    BrowserSessionStrategy,
    { provide: SessionStore, useClass: PostgresSessionStore },
  ],
  exports: [
    RegistrationModule,
    SessionsService,
    SessionUsesService,
    AdministrationService,
    DeactivationsService,
    SignInService,
    PasswordsService,
  ],
})
export class AuthModule {}
