import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { AccessChangesService } from './access-changes.service.js';
import { AdministratorsService } from './administrators.service.js';
import { PrincipalNames } from './principal-names.store.js';
import { UserStore } from './user.store.js';

@Module({
  imports: [AuditModule],
  providers: [UserStore, PrincipalNames, AccessChangesService, AdministratorsService],
  exports: [UserStore, PrincipalNames, AccessChangesService, AdministratorsService],
})
export class UsersModule {}
