import { type NextRules, type RulesTarget, RulesTargetMoved } from '../../src/acl-sync/domain/rules-target.js';

/** One target, as the contract needs it. */
export interface TargetUnderTest {
  target: RulesTarget;
  /** The backup of the previous text; null: none. */
  former(): Promise<string | null>;
  editByHand(text: string): Promise<void>;
  close(): Promise<void>;
}

const forever = new AbortController().signal;

function rules(text: string, generation = 1): NextRules {
  return { text, hash: `a${generation}`, generation, publishedAt: new Date('2026-11-20T08:00:00.000Z') };
}

/** What every target must do; the real ones and the fake run it alike. */
export function describeRulesTarget(name: string, open: () => Promise<TargetUnderTest>): void {
  describe(`the rules target '${name}'`, () => {
    let under: TargetUnderTest;
    beforeEach(async () => {
      under = await open();
    });
    afterEach(() => under.close());

    const read = () => under.target.read(forever);
    const publish = async (text: string, generation?: number) =>
      under.target.publish(rules(text, generation), await read(), forever);

    it('has no text before the first publication', async () => {
      expect((await read()).text).toBeNull();
    });

    it('reads back what was published, byte for byte', async () => {
      const text = '{"tables":[{"filter":"région = \'Île\' || \\"𝄞\\""}]}\n';
      await publish(text);
      expect((await read()).text).toBe(text);
    });

    it('grants access before the first publication and after it, and changes nothing', async () => {
      const access = () => under.target.checkAccess(forever);
      expect(await access()).toEqual({ kind: 'granted' });
      expect((await read()).text).toBeNull();
      await publish('first');
      expect(await access()).toEqual({ kind: 'granted' });
      expect((await read()).text).toBe('first');
    });

    it('names the version that was written last, also where an edit by hand has replaced it', async () => {
      expect((await read()).namedVersion).toBeUndefined();
      await publish('first', 7);
      expect((await read()).namedVersion).toEqual({ generation: 7, hash: 'a7' });
      await under.editByHand('edited by hand');
      expect((await read()).namedVersion).toEqual({ generation: 7, hash: 'a7' });
    });

    it('keeps nothing beside the first text', async () => {
      await publish('first');
      expect(await under.former()).toBeNull();
    });

    it('keeps the text that was live beside the new one', async () => {
      await publish('first', 1);
      await publish('second', 2);
      expect(await under.former()).toBe('first');
      await publish('third', 3);
      expect(await under.former()).toBe('second');
    });

    it('leaves what was live before beside a text that is written again, with its version', async () => {
      await publish('first', 1);
      await publish('second', 2);
      await publish('second', 3);
      expect(await under.former()).toBe('first');
      expect((await read()).namedVersion).toEqual({ generation: 3, hash: 'a3' });
    });

    it('keeps a manual edit beside the text that replaces it', async () => {
      await publish('first');
      await under.editByHand('edited by hand');
      await publish('second', 2);
      expect(await under.former()).toBe('edited by hand');
      expect((await read()).text).toBe('second');
    });

    it('refuses a publication when the target changed since it was read, and writes nothing', async () => {
      await publish('first');
      const stale = await read();
      await under.editByHand('edited by hand');

      await expect(under.target.publish(rules('second', 2), stale, forever)).rejects.toBeInstanceOf(RulesTargetMoved);

      expect((await read()).text).toBe('edited by hand');
      expect(await under.former()).toBeNull();
    });

    it('lets one of several publications win that follow from the same reading', async () => {
      await publish('first');
      const live = await read();

      const outcomes = await Promise.allSettled(
        [2, 3, 4, 5, 6].map((generation) =>
          under.target.publish(rules(`text ${generation}`, generation), live, forever),
        ),
      );

      const refusals = outcomes.flatMap((outcome) =>
        outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
      );
      expect(refusals).toHaveLength(4);
      for (const refusal of refusals) expect(refusal).toBeInstanceOf(RulesTargetMoved);
      expect(await under.former()).toBe('first');
    });

    it('shows another revision after every change, and the same one while nothing changes', async () => {
      await publish('first');
      const once = await read();
      expect(await read()).toEqual(once);
      await publish('second', 2);
      expect((await read()).revision).not.toBe(once.revision);
    });
  });
}
