import { createSecretKey, type KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Settings } from '../../platform/settings.js';

/**
 * AUTH_SECRET_KEY as a key, made once: handed a string, jsonwebtoken tries to read it as a public key at every signature and
 * every verification, which takes some forty times as long as either.
 */
@Injectable()
export class SigningKey {
  readonly key: KeyObject;

  constructor(settings: Settings) {
    const { secretKey } = settings.auth;
    if (secretKey === null) throw new Error('a command without AUTH_SECRET_KEY signs no tokens');
    this.key = createSecretKey(secretKey.reveal(), 'utf8');
  }
}
