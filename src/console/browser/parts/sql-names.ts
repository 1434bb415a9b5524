import type { CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { ownNames } from '../api/own-names.js';
import { quoted } from '../domain/sql-path.js';

/** A path as far as it is typed: names with dots between them, in quotes where they need them. */
const PATH = /(?:(?:"(?:[^"]|"")*"|\w+)\.)*(?:"(?:[^"]|"")*|\w*)$/;

/** Completes paths by the catalogs, schemas and tables that the person may see. */
export function completeNames(place: () => { catalog: string; schema: string }) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const typed = context.matchBefore(PATH);
    if (typed === null || (typed.text === '' && !context.explicit)) return null;
    const names = [...typed.text.matchAll(/"((?:[^"]|"")*)"?|(\w+)/g)].map(
      ([, inQuotes, plain = '']) => inQuotes?.replaceAll('""', '"') ?? plain.toLowerCase(),
    );
    const part = typed.text === '' || typed.text.endsWith('.') ? '' : (names.pop() ?? '');
    const last = /(?:"(?:[^"]|"")*|\w*)$/.exec(typed.text)?.[0].length ?? 0;
    const found = await Promise.all(placesOf(names, place()).map((under) => ownNames(under, part)));
    const options = [...new Set(found.flat())].map((name) => ({ label: name, apply: quoted(name) }));
    // Of tables, schemas and catalogs, those nearest to the place of the statement come first.
    return options.length === 0 ? null : { from: context.pos - last, options };
  };
}

/** Nodes whose children a path may name next. */
function placesOf(names: readonly string[], { catalog, schema }: { catalog: string; schema: string }): string[][] {
  if (names.length > 2) return [];
  const places = [[catalog, schema], [catalog], []].filter((place) => !place.includes(''));
  return places.map((place) => [...place, ...names]).filter((place) => place.length < 3);
}
