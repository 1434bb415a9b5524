import {
  autocompletion,
  type CompletionContext,
  completionKeymap,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { history, historyKeymap, standardKeymap } from '@codemirror/commands';
import { sql, StandardSQL } from '@codemirror/lang-sql';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { Compartment, EditorState, Prec } from '@codemirror/state';
import { Decoration, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import { readOwnNames } from '../api/catalog.js';
import { quoteName } from '../domain/node-path.js';

interface SqlEditorProps {
  label: string;
  text: string;
  setText: (text: string) => void;
  /** The catalog and schema of names without a path. */
  place: { catalog: string; schema: string };
  run: () => void;
  /** A line that the engine has refused, from 1 on. */
  wrongLine: number | null;
}

/**
 * CodeMirror, in a shadow root: there its styles are style sheet objects, which the content security policy allows, and not
 * style elements, which it forbids.
 */
export default function SqlEditor({ wrongLine, ...props }: SqlEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  useEffect(() => {
    latest.current = props;
  });
  useEffect(() => {
    if (host.current === null) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' });
    const editor = new EditorView({ root, parent: root, state: stateOf(latest) });
    view.current = editor;
    return () => editor.destroy();
  }, []);
  useEffect(() => {
    view.current?.dispatch({ effects: wrong.reconfigure(markOf(view.current.state, wrongLine)) });
  }, [wrongLine]);
  return <div className="editor" ref={host} />;
}

const wrong = new Compartment();

function markOf(state: EditorState, number: number | null) {
  if (number === null || number < 1 || number > state.doc.lines) return [];
  const { from, to, text } = state.doc.line(number);
  if (text.trim() === '') return [];
  return EditorView.decorations.of(Decoration.set(Decoration.mark({ class: 'wrong' }).range(from, to)));
}

function stateOf(latest: { current: Omit<SqlEditorProps, 'wrongLine'> }): EditorState {
  const run = (): boolean => {
    latest.current.run();
    return true;
  };
  return EditorState.create({
    doc: latest.current.text,
    extensions: [
      // Before the standard keys, in which Ctrl-Enter inserts a line.
      Prec.highest(keymap.of([{ key: 'Ctrl-Enter', mac: 'Cmd-Enter', run }])),
      // Tab leaves the editor, as it leaves any field.
      keymap.of([...completionKeymap, ...standardKeymap, ...historyKeymap]),
      history(),
      lineNumbers(),
      EditorView.lineWrapping,
      sql({
        dialect: StandardSQL,
        upperCaseKeywords: true,
        // Names have no section, so they are listed before keywords.
        keywordCompletion: (label, type) => ({ label, type, section: 'Keywords' }),
      }),
      StandardSQL.language.data.of({ autocomplete: completeNames(() => latest.current.place) }),
      autocompletion({ icons: false, maxRenderedOptions: 10 }),
      syntaxHighlighting(COLOURS),
      THEME,
      wrong.of([]),
      EditorView.contentAttributes.of({ 'aria-label': latest.current.label }),
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (docChanged) latest.current.setText(state.doc.toString());
      }),
    ],
  });
}

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent)', fontWeight: '500' },
  { tag: [tags.string, tags.number, tags.bool], color: 'var(--gain)' },
  { tag: [tags.typeName, tags.standard(tags.name)], color: 'var(--engine)' },
  { tag: tags.comment, color: 'var(--text-3)' },
]);

/** CodeMirror's own colours fail the contrast of WCAG in the dark. */
const THEME = EditorView.theme({
  '&': { color: 'var(--text)', minHeight: '9.25rem', maxHeight: '24rem' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { font: 'inherit', overflow: 'auto' },
  '.cm-content': { padding: 'var(--s3) 0', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 var(--s3) 0 0' },
  '.cm-gutters': { border: '0', background: 'none', color: 'var(--text-3)' },
  '.cm-lineNumbers .cm-gutterElement': { minWidth: '2.5rem', padding: '0 var(--s3) 0 0' },
  '.wrong': { textDecoration: 'wavy underline var(--loss)', textUnderlineOffset: '0.25em' },
  '.cm-tooltip': {
    border: '0',
    borderRadius: 'var(--radius-l)',
    background: 'var(--raised)',
    color: 'var(--text)',
    boxShadow: 'var(--shadow)',
    overflow: 'hidden',
  },
  // Without a scroll bar, which the keyboard could not reach.
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: 'none' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: 'var(--s1) var(--s3)', minHeight: '1.5rem' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    background: 'var(--selected)',
    color: 'var(--text)',
  },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '620' },
});

/** The typed part of a path: names with dots between them, in quotes where needed. */
const PATH = /(?:(?:"(?:[^"]|"")*"|\w+)\.)*(?:"(?:[^"]|"")*|\w*)$/;

/** Completes paths by the catalogs, schemas and tables that the person may see. */
function completeNames(place: () => { catalog: string; schema: string }) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const typed = context.matchBefore(PATH);
    if (typed === null || (typed.text === '' && !context.explicit)) return null;
    const names = [...typed.text.matchAll(/"((?:[^"]|"")*)"?|(\w+)/g)].map(
      ([, inQuotes, plain = '']) => inQuotes?.replaceAll('""', '"') ?? plain.toLowerCase(),
    );
    const part = typed.text === '' || typed.text.endsWith('.') ? '' : (names.pop() ?? '');
    const last = /(?:"(?:[^"]|"")*|\w*)$/.exec(typed.text)?.[0].length ?? 0;
    const found = await Promise.all(placesOf(names, place()).map((under) => readOwnNames(under, part)));
    const options = [...new Set(found.flat())].map((name) => ({ label: name, apply: quoteName(name) }));
    // Names nearest to the place of the statement come first.
    return options.length === 0 ? null : { from: context.pos - last, options };
  };
}

/** Nodes whose children a path may name next. */
function placesOf(names: readonly string[], { catalog, schema }: { catalog: string; schema: string }): string[][] {
  if (names.length > 2) return [];
  const places = [[catalog, schema], [catalog], []].filter((place) => !place.includes(''));
  return places.map((place) => [...place, ...names]).filter((place) => place.length < 3);
}
