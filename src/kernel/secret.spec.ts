import { inspect } from 'node:util';
import { Opaque, Secret } from './secret.js';

describe('a secret', () => {
  const secret = new Secret('hunter2');

  it('is what it was', () => expect(secret.reveal()).toBe('hunter2'));

  it.each([
    ['inspect', inspect({ secret }, { showHidden: true, getters: true, depth: null })],
    ['inspect without custom forms', inspect({ secret }, { customInspect: false, showHidden: true, depth: null })],
    ['JSON', JSON.stringify({ secret })],
    ['text', String(secret)],
    ['a copy', JSON.stringify(Object.assign({}, secret))],
    ['an error', inspect(new Error('failed', { cause: secret }))],
  ])('is not in %s', (_, text) => expect(text).not.toContain('hunter2'));
});

describe('an opaque class', () => {
  @Opaque
  class Holder {
    private readonly held = { token: 'hunter2' };

    first(): string {
      return this.held.token.slice(0, 1);
    }
  }
  class Heir extends Holder {}

  it.each([new Holder(), new Heir()])('shows its name alone', (holder) => {
    expect(inspect({ holder }, { showHidden: true, depth: null })).toBe('{ holder: [Holder] }');
    expect(JSON.stringify({ holder })).toBe('{"holder":"[Holder]"}');
    expect(holder.first()).toBe('h');
  });
});
