import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { ConsoleSessionController } from './console-session.controller.js';

/** The web console: its session. Its files are served beside the routes (console-pages.ts). */
@Module({ imports: [AuthModule], controllers: [ConsoleSessionController] })
export class ConsoleModule {}
