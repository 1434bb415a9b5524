import { Controller, Get, Param, Post, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { found, Refused } from '../../kernel/errors.js';
import { Public } from '../../platform/access.js';
import { listForm } from './domain/list-request.js';
import { resourceTypes, schemas, serviceProviderConfig } from './domain/schemas.js';
import { CurrentScimRequest, type ScimRequest } from './scim-request.js';
import { ScimGuard } from './scim.guard.js';

/** What a client can find out about the routes (RFC 7644 section 4), and what they do not have. */
@ApiExcludeController()
@Public()
@UseGuards(ScimGuard)
@Controller('api/scim/v2')
export class ScimDiscoveryController {
  @Get('ServiceProviderConfig')
  config(@CurrentScimRequest() { base }: ScimRequest): object {
    return serviceProviderConfig(base);
  }

  @Get('Schemas')
  schemas(@CurrentScimRequest() { base }: ScimRequest): object {
    return wholeList(schemas(base));
  }

  @Get('Schemas/:id')
  schema(@Param('id') id: string, @CurrentScimRequest() { base }: ScimRequest): object {
    return found(schemas(base).find((schema) => schema.id === id) ?? null);
  }

  @Get('ResourceTypes')
  resourceTypes(@CurrentScimRequest() { base }: ScimRequest): object {
    return wholeList(resourceTypes(base));
  }

  @Get('ResourceTypes/:id')
  resourceType(@Param('id') id: string, @CurrentScimRequest() { base }: ScimRequest): object {
    return found(resourceTypes(base).find((type) => type.id === id) ?? null);
  }

  @Post(['.search', 'Users/.search', 'Groups/.search'])
  search(): never {
    throw new Refused('not_implemented', { detail: 'Searches are requests by GET with a filter.' });
  }
}

function wholeList(resources: readonly object[]): object {
  return listForm(resources, resources.length, 0);
}
