// The browser's types of the API, made from the OpenAPI document of the built service.
import { writeFileSync } from 'node:fs';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import openapiTypes, { astToString } from 'openapi-typescript';
import { AppModule } from '../dist/app.module.js';
import { describeApi } from '../dist/platform/http/openapi.js';
import { parseSettings } from '../dist/platform/settings/settings-parser.js';
import { VERSION } from '../dist/platform/operations/version.js';

const { settings } = parseSettings({});
const foundation = { settings, database: { url: 'postgres://preview' }, log: {}, time: {} };
// A preview has the routes, but no database and no instances.
const app = await NestFactory.create(AppModule.forFoundation(foundation), new FastifyAdapter(), {
  preview: true,
  logger: false,
});
const types = astToString(await openapiTypes(describeApi(app, VERSION, new Date(0))));
writeFileSync('src/console/browser/api/schema.d.ts', types);
