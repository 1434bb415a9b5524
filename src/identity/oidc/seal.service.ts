import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { jsonOrNull } from '../../kernel/json-reader.js';
import { KeyedDigests } from '../../platform/settings/keyed-digests.js';
import type { FlowCookie, FlowState } from './domain/flow.js';

/** Sealed values by purpose. Each purpose has its own key, so that a text sealed for one cannot be used for another. */
interface Sealed {
  state: FlowState;
  cookie: FlowCookie;
  'id-token': string;
  'refresh-token': string;
}

type Purpose = keyof Sealed;

const IV = 12;
const TAG = 16;

/** Seals values that a browser or the database keeps: AES-256-GCM with keys derived from AUTH_SECRET_KEY. */
@Injectable()
export class SealService {
  constructor(private readonly digests: KeyedDigests) {}

  /** @param context must be the same when the text is opened. @returns base64url, which begins with random characters */
  seal<P extends Purpose>(purpose: P, value: Sealed[P], context = ''): string {
    const iv = randomBytes(IV);
    const cipher = createCipheriv('aes-256-gcm', this.key(purpose), iv, { authTagLength: TAG });
    cipher.setAAD(Buffer.from(context));
    const sealed = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()]);
    return Buffer.concat([iv, sealed, cipher.getAuthTag()]).toString('base64url');
  }

  /** Seals the provider's tokens of a session. */
  sealTokens({ idToken, refreshToken }: { idToken: string; refreshToken: string | null }) {
    return {
      idToken: this.seal('id-token', idToken),
      refreshToken: refreshToken === null ? null : this.seal('refresh-token', refreshToken),
    };
  }

  /** The sealed value; null: the text was not sealed by this service for that purpose and context. */
  open<P extends Purpose>(purpose: P, text: string, context = ''): Sealed[P] | null {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length < IV + TAG || bytes.toString('base64url') !== text) return null;
    const decipher = createDecipheriv('aes-256-gcm', this.key(purpose), bytes.subarray(0, IV), { authTagLength: TAG });
    decipher.setAAD(Buffer.from(context));
    decipher.setAuthTag(bytes.subarray(-TAG));
    try {
      const opened = Buffer.concat([decipher.update(bytes.subarray(IV, -TAG)), decipher.final()]);
      // The text is authenticated, so the value has the type that was sealed.
      return jsonOrNull(opened.toString()) as Sealed[P] | null;
    } catch {
      return null;
    }
  }

  private key(purpose: Purpose): Buffer {
    return this.digests.keyFor(`oidc ${purpose}`);
  }
}
