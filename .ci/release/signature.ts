import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** ECDSA on P-256 with SHA-256, in base64: what `cosign verify-blob` and `openssl dgst -sha256 -verify` read. */
export function signatureOf(bytes: Uint8Array, key: KeyObject): string {
  return sign('sha256', bytes, key).toString('base64');
}

export function isSignedBy(bytes: Uint8Array, signature: string, key: KeyObject): boolean {
  return verify('sha256', bytes, key, Buffer.from(signature, 'base64'));
}

/** @throws Error unless the file is a PEM with a private key on P-256 */
export function readPrivateKey(file: string): KeyObject {
  return onP256(file, createPrivateKey(readFileSync(file)));
}

/** @throws Error unless the file is a PEM with a public key on P-256 */
export function readPublicKey(file: string): KeyObject {
  return onP256(file, createPublicKey(readFileSync(file)));
}

function onP256(file: string, key: KeyObject): KeyObject {
  if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
  throw new Error(`${file} is no key on the curve P-256`);
}

const STATEMENT_TYPE = 'application/vnd.in-toto+json';

interface Envelope {
  payloadType: string;
  payload: string;
  signatures: { keyid: string; sig: string }[];
}

/** A DSSE envelope around an in-toto statement (https://github.com/secure-systems-lab/dsse/blob/master/protocol.md). */
export function envelopeOf(statement: object, key: KeyObject): Envelope {
  const payload = Buffer.from(JSON.stringify(statement));
  return {
    payloadType: STATEMENT_TYPE,
    payload: payload.toString('base64'),
    signatures: [{ keyid: '', sig: signatureOf(preAuthentication(payload), key) }],
  };
}

/** The statement in an envelope. @throws Error where it is of another type, or its signature is not the key's */
export function statementIn(text: string, key: KeyObject): unknown {
  const { payloadType, payload, signatures } = JSON.parse(text) as Envelope;
  const bytes = Buffer.from(payload, 'base64');
  if (payloadType !== STATEMENT_TYPE) throw new Error(`the envelope holds ${payloadType}, no in-toto statement`);
  if (!signatures.some(({ sig }) => isSignedBy(preAuthentication(bytes), sig, key)))
    throw new Error('the envelope is not signed with this key');
  return JSON.parse(bytes.toString()) as unknown;
}

function preAuthentication(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${STATEMENT_TYPE.length} ${STATEMENT_TYPE} ${payload.length} `), payload]);
}
