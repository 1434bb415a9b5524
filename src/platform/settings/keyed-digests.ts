import { createHmac, hkdfSync } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { getOrInsert } from '../../kernel/collections.js';
import { Opaque } from '../../kernel/secret.js';
import { Settings } from './settings.js';

/** The purpose of a digest. Each purpose has its own key, so that a digest for one purpose is never valid for another. */
type DigestPurpose = 'api-token' | 'cookie' | 'next-refresh' | 'next-access' | `oidc ${string}`;

/** Derives keys from AUTH_SECRET_KEY, and makes digests of secrets with them. */
@Opaque
@Injectable()
export class KeyedDigests {
  private readonly keys = new Map<DigestPurpose, Buffer>();

  constructor(private readonly settings: Settings) {}

  digestOf(purpose: DigestPurpose, secret: string): Buffer {
    return createHmac('sha256', this.keyFor(purpose)).update(secret).digest();
  }

  keyFor(purpose: DigestPurpose): Buffer {
    return getOrInsert(this.keys, purpose, () => {
      const { secretKey } = this.settings.auth;
      if (secretKey === null) throw new Error('a command without AUTH_SECRET_KEY keeps no secrets');
      return Buffer.from(hkdfSync('sha256', secretKey.reveal(), '', `grantline ${purpose}`, 32));
    });
  }
}
