import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { jsonOrNull } from '../../kernel/json-reader.js';
import { Opaque } from '../../kernel/secret.js';
import { Settings } from '../../platform/settings.js';
import type { FlowCookie, FlowState } from './domain/flow.js';

/** What is sealed for which purpose. Each has a key of its own, so that one cannot be shown as another. */
interface Sealed {
  state: FlowState;
  cookie: FlowCookie;
  'id-token': string;
  'refresh-token': string;
}

type Purpose = keyof Sealed;

const IV = 12;
const TAG = 16;

/** Texts that whoever keeps them, a browser or the database, can neither read nor change: AES-256-GCM with keys derived from AUTH_SECRET_KEY. */
@Opaque
@Injectable()
export class SealService {
  private readonly keys = new Map<Purpose, Buffer>();

  constructor(private readonly settings: Settings) {}

  /** @param context what it is sealed for: it opens only with the same. @returns base64url, which begins with random characters */
  seal<P extends Purpose>(purpose: P, value: Sealed[P], context = ''): string {
    const iv = randomBytes(IV);
    const cipher = createCipheriv('aes-256-gcm', this.key(purpose), iv, { authTagLength: TAG });
    cipher.setAAD(Buffer.from(context));
    const sealed = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()]);
    return Buffer.concat([iv, sealed, cipher.getAuthTag()]).toString('base64url');
  }

  /** What the provider gave of a session, to be kept. */
  sealTokens({ idToken, refreshToken }: { idToken: string; refreshToken: string | null }) {
    return {
      idToken: this.seal('id-token', idToken),
      refreshToken: refreshToken === null ? null : this.seal('refresh-token', refreshToken),
    };
  }

  /** What was sealed; null: nothing of this service for that purpose and context. */
  open<P extends Purpose>(purpose: P, text: string, context = ''): Sealed[P] | null {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length < IV + TAG || bytes.toString('base64url') !== text) return null;
    const decipher = createDecipheriv('aes-256-gcm', this.key(purpose), bytes.subarray(0, IV), { authTagLength: TAG });
    decipher.setAAD(Buffer.from(context));
    decipher.setAuthTag(bytes.subarray(-TAG));
    try {
      const opened = Buffer.concat([decipher.update(bytes.subarray(IV, -TAG)), decipher.final()]);
      // Nobody else has the key: it is what was sealed.
      return jsonOrNull(opened.toString()) as Sealed[P] | null;
    } catch {
      return null;
    }
  }

  private key(purpose: Purpose): Buffer {
    const known = this.keys.get(purpose);
    if (known !== undefined) return known;
    const { secretKey } = this.settings.auth;
    if (secretKey === null) throw new Error('a command without AUTH_SECRET_KEY seals nothing');
    const key = Buffer.from(hkdfSync('sha256', secretKey.reveal(), '', `grantline oidc ${purpose}`, 32));
    this.keys.set(purpose, key);
    return key;
  }
}
