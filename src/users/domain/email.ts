const ATOM = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i;
const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i;

/**
 * An e-mail address as people have them: RFC 5322's addr-spec with a dot-atom before the @ and a host name of two labels
 * or more after it, ASCII, within the lengths of RFC 5321 section 4.5.3.1 (64 before the @, 255 after it, 254 in all) and of
 * RFC 1035 (63 a label). No display names, comments, quoted strings, address literals, white space or look-alikes.
 * @returns what is wrong, or null.
 */
export function emailProblem(text: string): string | null {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, at);
  const labels = text.slice(at + 1).split('.');
  if (text.length > 254 || local.length > 64) return 'is too long for an e-mail address';
  const isAddress =
    at > 0 &&
    ATOM.test(local) &&
    labels.length >= 2 &&
    labels.every((label) => label.length <= 63 && LABEL.test(label)) &&
    // A host name does not end in a number: that would be an IPv4 address (RFC 1123 section 2.1).
    !/^[0-9]+$/.test(labels.at(-1) ?? '');
  return isAddress ? null : 'must be an e-mail address such as name@example.org';
}
