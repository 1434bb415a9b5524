import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module.js';
import { AccessChangesService } from './access-changes.service.js';
import { AdministratorsService } from './administrators.service.js';
import { UserStore, PrincipalNames } from './domain/account.js';
import { AdministratorStore } from './domain/administrators.js';
import { PostgresAdministratorStore } from './infrastructure/postgres-administrator-store.js';
import { TypeormPrincipalNames } from './infrastructure/typeorm-principal-names.js';
import { TypeormUserStore } from './infrastructure/typeorm-user-store.js';
import { PrincipalNameRow, UserRow } from './infrastructure/user.entity.js';
import { UsersService } from './users.service.js';

@Module({
  imports: [AuditModule, TypeOrmModule.forFeature([UserRow, PrincipalNameRow])],
  providers: [
    UsersService,
    AccessChangesService,
    AdministratorsService,
    { provide: AdministratorStore, useClass: PostgresAdministratorStore },
    { provide: UserStore, useClass: TypeormUserStore },
    { provide: PrincipalNames, useClass: TypeormPrincipalNames },
  ],
  exports: [UsersService, AccessChangesService, AdministratorsService],
})
export class UsersModule {}
