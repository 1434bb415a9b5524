import type { ServiceTokenSource } from '../domain/service-token-source.js';

/** SERVICE_QUERY_JWT_ENABLED=false: requests carry no Bearer header. */
export const NO_SERVICE_TOKENS: ServiceTokenSource = {
  current: () => Promise.resolve(null),
  replacing: () => Promise.resolve(null),
  last: () => null,
  isValid: () => true,
  keepFresh: () => Promise.resolve(),
  close: () => undefined,
};
