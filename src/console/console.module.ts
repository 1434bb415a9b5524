import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { UsersModule } from '../users/users.module.js';
import { ConsoleSessionController } from './console-session.controller.js';

/** The routes of the web console's session. console-pages.ts serves its files. */
@Module({ imports: [AuthModule, UsersModule], controllers: [ConsoleSessionController] })
export class ConsoleModule {}
