import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { UsersModule } from '../users/users.module.js';
import { CredentialsService } from './credentials.service.js';
import { PasswordHasher } from './domain/password.js';
import { Throttle } from './domain/throttle.js';
import { PiscinaPasswordHasher } from './infrastructure/piscina-password-hasher.js';
import { PostgresThrottle } from './infrastructure/postgres-throttle.js';
import { RegistrationService } from './registration.service.js';

/** Accounts and their passwords, without tokens: needs no signing key. */
@Module({
  imports: [AuditModule, UsersModule],
  providers: [
    RegistrationService,
    CredentialsService,
    { provide: PasswordHasher, useClass: PiscinaPasswordHasher },
    { provide: Throttle, useClass: PostgresThrottle },
  ],
  exports: [RegistrationService, CredentialsService, PasswordHasher, Throttle],
})
export class RegistrationModule {}
