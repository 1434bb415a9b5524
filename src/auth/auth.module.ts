import { Module } from '@nestjs/common';
import { JwtModule } from '@nestjs/jwt';
import { AuditModule } from '../audit/audit.module.js';
import { UsersModule } from '../users/users.module.js';
import { AdministrationController } from './administration.controller.js';
import { AdministrationService } from './administration.service.js';
import { AuthController, OwnAccountController } from './auth.controller.js';
import { CredentialsService } from './credentials.service.js';
import { MaintenanceService } from './maintenance.service.js';
import { PasswordHasher } from './password-hasher.js';
import { PasswordsService } from './passwords.service.js';
import { RegistrationService } from './registration.service.js';
import { SessionStore } from './session.store.js';
import { AccessTokenStrategy, BrowserSessionStrategy } from './session.strategies.js';
import { SessionsService } from './sessions.service.js';
import { SignInService } from './sign-in.service.js';
import { Throttle } from './throttle.store.js';
import { SigningKey, TokensService } from './tokens.service.js';

/** Registration and password checks. Tokens are left to `AuthModule`, so that a command that creates accounts needs no signing key. */
@Module({
  imports: [AuditModule, UsersModule],
  providers: [RegistrationService, CredentialsService, PasswordHasher, Throttle],
  exports: [RegistrationService, CredentialsService, PasswordHasher, Throttle],
})
export class RegistrationModule {}

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
        // The library must not check expiry, because judgeClaims checks all times by the injected clock.
        verifyOptions: { algorithms: ['HS256'], ignoreExpiration: true },
      }),
    }),
  ],
  controllers: [AuthController, OwnAccountController, AdministrationController],
  providers: [
    SignInService,
    SessionsService,
    PasswordsService,
    AdministrationService,
    MaintenanceService,
    TokensService,
    SigningKey,
    AccessTokenStrategy,
    BrowserSessionStrategy,
    SessionStore,
  ],
  exports: [RegistrationModule, SessionsService, AdministrationService, SignInService, PasswordsService],
})
export class AuthModule {}
