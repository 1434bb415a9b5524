import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessChangesService } from './access-changes.service.js';
import { PrincipalNames } from './domain/principal-names.js';
import { UserStore } from './domain/user-store.js';
import { PrincipalNameRow } from './infrastructure/principal-name.entity.js';
import { TypeormPrincipalNames } from './infrastructure/typeorm-principal-names.js';
import { TypeormUserStore } from './infrastructure/typeorm-user-store.js';
import { UserRow } from './infrastructure/user.entity.js';
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
