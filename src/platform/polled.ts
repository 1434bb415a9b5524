import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';

const MARK = 'isPolled';

/** A route that open pages ask every few seconds: its good answers are logged for developers alone. */
export const Polled = (): MethodDecorator => RouteConfig({ [MARK]: true });

export function isPolled({ routeOptions: { config } }: FastifyRequest): boolean {
  return MARK in config && config[MARK] === true;
}
