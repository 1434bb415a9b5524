import { GOOD_RULES } from '../../../test/support/rules/good-rules.js';
import { hostileFiles } from '../../../test/support/rules/hostile-rules.js';
import { readRules } from './rules-reader.js';

describe('the strict reader', () => {
  it('takes a document with a rule in every section, as text and as bytes', () => {
    const document: unknown = JSON.parse(GOOD_RULES);
    expect(readRules(GOOD_RULES)).toEqual({ kind: 'read', document });
    expect(readRules(new TextEncoder().encode(GOOD_RULES))).toEqual({ kind: 'read', document });
  });

  it('takes a document without system_information, which is closed then; without any other section it refuses', () => {
    const document = JSON.parse(GOOD_RULES) as Record<string, unknown>;
    for (const section of Object.keys(document)) {
      const { kind } = readRules(JSON.stringify({ ...document, [section]: undefined }));
      expect({ section, kind }).toEqual({ section, kind: section === 'system_information' ? 'read' : 'refused' });
    }
  });

  it.each(hostileFiles())('refuses $name ($code)', ({ source, code }) => {
    const reading = readRules(source);

    expect(reading.kind).toBe('refused');
    const findings = reading.kind === 'refused' ? reading.findings : [];
    expect(findings.map((finding) => finding.code)).toContain(code);
    for (const { severity, line, column } of findings) {
      expect(severity).toBe('error');
      expect(line).toBeGreaterThanOrEqual(1);
      expect(column).toBeGreaterThanOrEqual(1);
    }
  });

  it('reports the position of every fault at once', () => {
    const text = GOOD_RULES.replace('"tables":[', '"tables":[\n  ')
      .replace('"table":"orders"', '"table":""')
      .replace('"owner":true', '"owner":"true"');

    const reading = readRules(text);

    expect(reading.kind === 'refused' && reading.findings).toEqual([
      {
        code: 'rules-wrong-type',
        severity: 'error',
        message: '"owner" must be true or false, not a text',
        rule: 'schemas[0]',
        line: 1,
        column: text.indexOf('"true"') + 1,
      },
      {
        code: 'rules-pattern-empty',
        severity: 'error',
        message: '"table" is empty, which the engine reads as "any"',
        rule: 'tables[0]',
        line: 2,
        column: (text.split('\n')[1] ?? '').indexOf('""') + 1,
      },
    ]);
  });

  it('takes a column whose name is a space, which the engine takes as well', () => {
    const text = GOOD_RULES.replace(
      '"tables":[',
      '"tables":[{"columns":[{"name":" ","allow":false}],"privileges":["SELECT"]},',
    );
    expect(readRules(text).kind).toBe('read');
    expect(readRules(text.replace('"name":" "', '"name":" ","mask":" "')).kind).toBe('refused');
  });

  it('reports where bytes stop being UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('{"a":\n"ä'), Uint8Array.of(0xff), Buffer.from('"}')]);
    const reading = readRules(bytes);
    expect(reading.kind === 'refused' && reading.findings).toMatchObject([
      { code: 'json-encoding', line: 2, column: 3 },
    ]);
  });
});
