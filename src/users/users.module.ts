import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessChangesService } from './access-changes.service.js';
import { UserStore, PrincipalNames } from './domain/account.js';
import { TypeormPrincipalNames } from './infrastructure/typeorm-principal-names.js';
import { TypeormUserStore } from './infrastructure/typeorm-user-store.js';
import { PrincipalNameRow, UserRow } from './infrastructure/user.entity.js';
import { UsersService } from './users.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([UserRow, PrincipalNameRow])],
  providers: [
    UsersService,
    AccessChangesService,
    { provide: UserStore, useClass: TypeormUserStore },
    { provide: PrincipalNames, useClass: TypeormPrincipalNames },
  ],
  exports: [UsersService, AccessChangesService],
})
export class UsersModule {}
