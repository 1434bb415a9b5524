import { files, GOOD_RULES, type HostileFile } from '../rules/good-rules.js';

export function encodings(): HostileFile[] {
  const bytes = (name: string, source: Uint8Array, code: string): HostileFile => ({ name, source, code });
  const utf8 = new TextEncoder().encode(GOOD_RULES);
  const cut = utf8.slice(0, -1);
  return [
    bytes('a byte order mark', Buffer.from(`\ufeff${GOOD_RULES}`), 'json-byte-order-mark'),
    bytes('UTF-16, little end first', Buffer.from(`\ufeff${GOOD_RULES}`, 'utf16le'), 'json-encoding'),
    bytes('UTF-16 without a mark', Buffer.from(GOOD_RULES, 'utf16le'), 'json-syntax'),
    bytes('UTF-16, big end first', Buffer.from(GOOD_RULES, 'utf16le').swap16(), 'json-syntax'),
    bytes('Latin-1', Buffer.from(GOOD_RULES.replace('orders', 'aufträge'), 'latin1'), 'json-encoding'),
    bytes('a character cut in half', Buffer.concat([cut, Uint8Array.of(0xe2, 0x82)]), 'json-encoding'),
    bytes('an overlong slash', Buffer.concat([cut, Uint8Array.of(0xc0, 0xaf)]), 'json-encoding'),
    bytes('a surrogate in UTF-8', Buffer.concat([cut, Uint8Array.of(0xed, 0xa0, 0x80)]), 'json-encoding'),
    bytes('a NUL at the end', Buffer.concat([utf8, Uint8Array.of(0)]), 'json-syntax'),
  ];
}

export function syntax(): HostileFile[] {
  const texts: Record<string, string> = {
    'an empty file': '',
    'white space': ' \n\t ',
    'a comment': `// rules\n${GOOD_RULES}`,
    'a block comment': `/* rules */${GOOD_RULES}`,
    'a hash comment': `# rules\n${GOOD_RULES}`,
    'a trailing comma': GOOD_RULES.replace(/\}$/, ',}'),
    'a trailing comma in a list': GOOD_RULES.replace('["SELECT"]', '["SELECT",]'),
    'a second document': `${GOOD_RULES}{}`,
    'a bracket too many': `${GOOD_RULES}}`,
    'words after the end': `${GOOD_RULES} and more`,
    'no end': GOOD_RULES.slice(0, -1),
    'single quotes': GOOD_RULES.replaceAll('"', "'"),
    'a key without quotes': GOOD_RULES.replace('"queries"', 'queries'),
    'a string that is not closed': GOOD_RULES.replace('"svc"', '"svc'),
    'a line break in a string': GOOD_RULES.replace('"svc"', '"s\nvc"'),
    'a tab in a string': GOOD_RULES.replace('"svc"', '"s\tvc"'),
    'an escape that JSON lacks': GOOD_RULES.replace('"svc"', '"\\svc"'),
    'a short unicode escape': GOOD_RULES.replace('"svc"', '"\\u12"'),
    NaN: GOOD_RULES.replace('true', 'NaN'),
    'upper-case TRUE': GOOD_RULES.replace('true', 'TRUE'),
    'a leading zero': GOOD_RULES.replace('true', '01'),
    'a leading plus': GOOD_RULES.replace('true', '+1'),
    'a missing colon': GOOD_RULES.replace('"queries":', '"queries" '),
    'a missing comma': GOOD_RULES.replace('],"queries"', ']"queries"'),
    'deep nesting': `${'['.repeat(5000)}${']'.repeat(5000)}`,
    YAML: 'catalogs:\n  - allow: all\n',
  };
  const syntactic = files('json-syntax', texts);
  return [
    ...syntactic,
    ...files('json-lone-surrogate', { 'half a character': GOOD_RULES.replace('"svc"', '"\\ud83d"') }),
    ...files('rules-wrong-type', {
      'null instead of the document': 'null',
      'true instead of the document': 'true',
      'a list instead of the document': '[]',
      'a text instead of the document': '"rules"',
      'a number instead of the document': '1',
    }),
    ...files('rules-section-missing', { 'an empty object': '{}' }),
  ];
}
