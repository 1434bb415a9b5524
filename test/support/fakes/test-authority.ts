import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

/** A server's certificate and its key, in PEM. */
export interface Credentials {
  cert: string;
  key: string;
}

const DAY = 86_400_000;

/** A certificate authority for one test; Node reads X.509 (RFC 5280) and writes none. */
export class TestAuthority {
  private readonly name = sequence(
    set(sequence(oid(COMMON_NAME), utf8(`Test authority ${randomBytes(4).toString('hex')}`))),
  );
  private readonly keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  /** Its own certificate in PEM. */
  readonly pem = pem(this.certificate(this.name, this.keys.publicKey, BASIC_CONSTRAINTS_OF_A_CA, DAY));

  /** @param life milliseconds from now; below zero: expired */
  issue(names: readonly string[], life = DAY): Credentials {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const alternatives = sequence(
      ...names.map((name) =>
        isIP(name) === 4 ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name)),
      ),
    );
    // Critical, as it must be beside an empty subject; Java refuses anything else.
    const extension = sequence(oid(SUBJECT_ALTERNATIVE_NAME), TRUE, der(0x04, alternatives));
    const cert = pem(this.certificate(sequence(), publicKey, extension, life));
    return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
  }

  private certificate(subject: Buffer, key: KeyObject, extension: Buffer, life: number): Buffer {
    const [now, algorithm] = [Date.now(), sequence(oid(ECDSA_WITH_SHA256))];
    const signed = sequence(
      der(0xa0, der(0x02, Buffer.from([2]))),
      der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
      algorithm,
      this.name,
      sequence(time(now - 2 * DAY), time(now + life)),
      subject,
      key.export({ type: 'spki', format: 'der' }),
      der(0xa3, sequence(extension)),
    );
    const signature = sign('sha256', signed, this.keys.privateKey);
    return sequence(signed, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  }
}

const COMMON_NAME = '550403';
const SUBJECT_ALTERNATIVE_NAME = '551d11';
const ECDSA_WITH_SHA256 = '2a8648ce3d040302';
const TRUE = der(0x01, Buffer.from([0xff]));
const BASIC_CONSTRAINTS_OF_A_CA = sequence(oid('551d13'), TRUE, der(0x04, sequence(TRUE)));

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function set(part: Buffer): Buffer {
  return der(0x31, part);
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}

function utf8(text: string): Buffer {
  return der(0x0c, Buffer.from(text));
}

/** GeneralizedTime. */
function time(at: number): Buffer {
  return der(0x18, Buffer.from(`${new Date(at).toISOString().replace(/\D/g, '').slice(0, 14)}Z`));
}

function pem(certificate: Buffer): string {
  const lines = certificate.toString('base64').replace(/.{64}/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}
