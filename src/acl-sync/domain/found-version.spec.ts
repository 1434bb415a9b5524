import { foundVersion } from './found-version.js';

const written = { generation: 9, hash: 'f00' };

describe('a version at the target', () => {
  it('is found where it is above every one of this history, with another text', () => {
    expect(foundVersion({ text: 'theirs', written }, { text: 'ours' }, 8)).toEqual({
      version: 9,
      hash: 'f00',
      text: 'theirs',
    });
    expect(foundVersion({ text: 'theirs', written }, null, 0)).toMatchObject({ version: 9 });
  });

  it.each([null, 'al\0ice'])('has no text where that is %j, which no version holds', (text) => {
    expect(foundVersion({ text, written }, null, 0)).toMatchObject({ text: '' });
  });

  it.each<[string, Parameters<typeof foundVersion>]>([
    ['a known number', [{ text: 'by hand', written }, { text: 'ours' }, 9]],
    ['no number', [{ text: 'by hand' }, { text: 'ours' }, 0]],
    ['the last text, whatever its number', [{ text: 'ours', written }, { text: 'ours' }, 0]],
  ])('is known where it has %s', (_, given) => {
    expect(foundVersion(...given)).toBeNull();
  });
});
