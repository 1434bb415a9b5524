import { diffRules, reorderedSections } from './rules-diff.js';

const text = (...tables: string[]) => `{"catalogs":[{"allow":"none"}],"tables":[\n${tables.join(',\n')}]}`;

describe('what changes in the rules', () => {
  it('names what comes and what goes, with its section', () => {
    expect(diffRules(text('{"user":"a"}', '{"user":"b"}'), text('{"user":"b"}', '{"user":"c"}'))).toEqual({
      added: ['tables {"user":"c"}'],
      removed: ['tables {"user":"a"}'],
    });
  });

  it('counts duplicate rules, and ignores a change of position', () => {
    expect(diffRules(text('{"user":"a"}', '{"user":"a"}', '{}'), text('{}', '{"user":"a"}'))).toEqual({
      added: [],
      removed: ['tables {"user":"a"}'],
    });
  });

  it('tells sections whose rules are in another order, whatever comes and goes', () => {
    expect(reorderedSections(text('{"user":"a"}', '{"user":"b"}'), text('{"user":"b"}', '{}', '{"user":"a"}'))).toEqual(
      ['tables'],
    );
    expect(reorderedSections(text('{"user":"a"}', '{"user":"b"}', '{}'), text('{"user":"a"}', '{}'))).toEqual([]);
  });

  it('takes the order of keys for no difference', () => {
    const [one, other] = [
      '{"user":"a","columns":[{"name":"x","mask":"1"}]}',
      '{"columns":[{"mask":"1","name":"x"}],"user":"a"}',
    ];
    expect(diffRules(text(one), text(other))).toEqual({ added: [], removed: [] });
    expect(diffRules(text(other), text())).toEqual({ added: [], removed: [`tables ${other}`] });
  });

  it.each([null, '', 'no JSON', '[1]', '7', '{"tables":7}'])('takes %j for no rules at all', (before) => {
    expect(diffRules(before, text('{"user":"a"}')).added).toEqual(['catalogs {"allow":"none"}', 'tables {"user":"a"}']);
  });

  it('leaves out the marker, which is never the same', () => {
    const marked = (hash: string) =>
      `{"system_session_properties":[{"property":"grantline_rules_${hash}","allow":true}]}`;
    expect(diffRules(marked('1'), marked('2'))).toEqual({ added: [], removed: [] });
  });
});
