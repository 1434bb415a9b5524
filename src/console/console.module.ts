import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { UsersModule } from '../users/users.module.js';
import { ConsoleSessionController } from './console-session.controller.js';

/** The web console: its session. Its files are served beside the routes (console-pages.ts). */
@Module({ imports: [AuthModule, UsersModule], controllers: [ConsoleSessionController] })
export class ConsoleModule {}
