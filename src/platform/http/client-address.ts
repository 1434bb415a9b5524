import { isIPv4, isIPv6 } from 'node:net';

/** Replaces every text that is no IP address. Clients with such texts share the limits per address, so that invented texts do not evade them. */
export const UNKNOWN_ADDRESS = 'unknown';

/**
 * The canonical text of an IP address from a socket or a proxy (`X-Forwarded-For` has no grammar): without port, brackets and zone; IPv4
 * in dotted form, also if mapped to IPv6 (RFC 4291 section 2.5.5.2); IPv6 as in RFC 5952.
 */
export function clientAddress(text: string | undefined): string {
  const trimmedText = (text ?? '').trim();
  const [, bracketedAddress] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(trimmedText) ?? [];
  const [, addressBeforePort] = /^([\d.]+):\d{1,5}$/.exec(trimmedText) ?? [];
  const address = bracketedAddress ?? addressBeforePort ?? trimmedText;
  return isIPv4(address) ? address : (canonicalIpv6(address.replace(/%[\w.-]+$/, '')) ?? UNKNOWN_ADDRESS);
}

function canonicalIpv6(text: string): string | null {
  if (!isIPv6(text) || text.includes('%')) return null;
  const canonicalAddress = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(canonicalAddress) ?? [];
  if (high === undefined || low === undefined) return canonicalAddress;
  const [left, right] = [parseInt(high, 16), parseInt(low, 16)];
  return [left >> 8, left & 255, right >> 8, right & 255].join('.');
}
