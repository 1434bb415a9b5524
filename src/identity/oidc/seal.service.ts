import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { jsonOrNull } from '../../kernel/json-reader.js';
import { KeyedDigests } from '../../platform/settings/keyed-digests.js';
import type { FlowCookie, FlowState } from './domain/flow.js';

/** Sealed values by purpose. Each purpose has its own key, so that a text sealed for one cannot be used for another. */
interface SealedValues {
  state: FlowState;
  cookie: FlowCookie;
  'id-token': string;
  'refresh-token': string;
}

type SealPurpose = keyof SealedValues;

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Seals values that a browser or the database keeps: AES-256-GCM with keys derived from AUTH_SECRET_KEY. */
@Injectable()
export class SealService {
  constructor(private readonly digests: KeyedDigests) {}

  /** Seals a value. @param context `open` needs the same text. @returns base64url text. Its first characters are random, so that they can name a cookie */
  seal<P extends SealPurpose>(purpose: P, value: SealedValues[P], context = ''): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.keyFor(purpose), iv, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(context));
    const ciphertext = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()]);
    return Buffer.concat([iv, ciphertext, cipher.getAuthTag()]).toString('base64url');
  }

  sealTokens({ idToken, refreshToken }: { idToken: string; refreshToken: string | null }) {
    return {
      idToken: this.seal('id-token', idToken),
      refreshToken: refreshToken === null ? null : this.seal('refresh-token', refreshToken),
    };
  }

  /** The sealed value; null: the text was not sealed by this service for that purpose and context. */
  open<P extends SealPurpose>(purpose: P, text: string, context = ''): SealedValues[P] | null {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length < IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== text) return null;
    const decipher = createDecipheriv('aes-256-gcm', this.keyFor(purpose), bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(Buffer.from(context));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const plaintext = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
      // The text is authenticated, so the value has the type that was sealed.
      return jsonOrNull(plaintext.toString()) as SealedValues[P] | null;
    } catch {
      return null;
    }
  }

  private keyFor(purpose: SealPurpose): Buffer {
    return this.digests.keyFor(`oidc ${purpose}`);
  }
}
