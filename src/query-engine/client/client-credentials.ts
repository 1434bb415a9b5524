import { NodeTimers, SystemClock } from '../../kernel/clock.js';
import { SystemRandom } from '../../kernel/ids.js';
import { Secret } from '../../kernel/secret.js';
import { refuseUnknown } from '../domain/db-api-errors.js';
import { UNOBSERVED } from '../domain/service-token.js';
import { OAuthServiceTokenSource } from '../infrastructure/oauth-service-token-source.js';
import { type OnWarning, type TokenProvider, WarningLog } from './connect.js';

export interface ClientCredentials {
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  scope?: string;
  /** As `caFile` of the engine. */
  caFile?: string;
  /** Called when no token can be had, and for a token without a usable life. */
  onWarning?: OnWarning;
}

/**
 * Tokens by OAuth's client-credentials grant (RFC 6749, 4.4), for any number of connections: one request however many wait, renewed
 * a minute before they expire, while the valid one is handed out.
 */
export function clientCredentials(client: ClientCredentials): TokenProvider {
  refuseUnknown(client, ['tokenUrl', 'clientId', 'clientSecret', 'scope', 'caFile', 'onWarning']);
  const { tokenUrl, clientId, clientSecret, scope = null, caFile = null } = client;
  const source = new OAuthServiceTokenSource(
    { tokenUrl, clientId, clientSecret: new Secret(clientSecret), scope, caFile },
    new NodeTimers(),
    new SystemRandom(),
    new SystemClock(),
    new WarningLog(client.onWarning),
    UNOBSERVED,
  );
  return (refused) => (refused === null ? source.current() : source.replacing(refused));
}
