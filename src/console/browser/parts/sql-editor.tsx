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
  namespace: { catalog: string; schema: string };
  run: () => void;
  wrongLine: number | null;
}

/**
 * CodeMirror in a shadow root. There CodeMirror uses style sheet objects, which the content security policy allows, instead of style
 * elements, which the policy forbids.
 */
export default function SqlEditor({ wrongLine, ...props }: SqlEditorProps) {
  const hostElement = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latestProps = useRef(props);
  useEffect(() => {
    latestProps.current = props;
  });
  useEffect(() => {
    if (hostElement.current === null) return;
    const root = hostElement.current.shadowRoot ?? hostElement.current.attachShadow({ mode: 'open' });
    const editor = new EditorView({ root, parent: root, state: editorState(latestProps) });
    view.current = editor;
    return () => editor.destroy();
  }, []);
  useEffect(() => {
    view.current?.dispatch({ effects: wrongLineMark.reconfigure(wrongLineDecoration(view.current.state, wrongLine)) });
  }, [wrongLine]);
  return <div className="editor" ref={hostElement} />;
}

const wrongLineMark = new Compartment();

function wrongLineDecoration(state: EditorState, lineNumber: number | null) {
  if (lineNumber === null || lineNumber < 1 || lineNumber > state.doc.lines) return [];
  const { from, to, text } = state.doc.line(lineNumber);
  if (text.trim() === '') return [];
  return EditorView.decorations.of(Decoration.set(Decoration.mark({ class: 'wrong' }).range(from, to)));
}

function editorState(latestProps: { current: Omit<SqlEditorProps, 'wrongLine'> }): EditorState {
  const run = (): boolean => {
    latestProps.current.run();
    return true;
  };
  return EditorState.create({
    doc: latestProps.current.text,
    extensions: [
      // The highest precedence, because Ctrl-Enter inserts a line by default.
      Prec.highest(keymap.of([{ key: 'Ctrl-Enter', mac: 'Cmd-Enter', run }])),
      // Tab is not bound, so that it moves the focus out of the editor, as in any field.
      keymap.of([...completionKeymap, ...standardKeymap, ...historyKeymap]),
      history(),
      lineNumbers(),
      EditorView.lineWrapping,
      sql({
        dialect: StandardSQL,
        upperCaseKeywords: true,
        // The section places keywords after other completions, such as table names, which have no section.
        keywordCompletion: (label, type) => ({ label, type, section: 'Keywords' }),
      }),
      StandardSQL.language.data.of({ autocomplete: completeNames(() => latestProps.current.namespace) }),
      autocompletion({ icons: false, maxRenderedOptions: 10 }),
      syntaxHighlighting(SYNTAX_COLOURS),
      THEME,
      wrongLineMark.of([]),
      EditorView.contentAttributes.of({ 'aria-label': latestProps.current.label }),
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (docChanged) latestProps.current.setText(state.doc.toString());
      }),
    ],
  });
}

const SYNTAX_COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent)', fontWeight: '500' },
  { tag: [tags.string, tags.number, tags.bool], color: 'var(--gain)' },
  { tag: [tags.typeName, tags.standard(tags.name)], color: 'var(--engine)' },
  { tag: tags.comment, color: 'var(--text-3)' },
]);

/** Replaces CodeMirror's colours, whose contrast in the dark scheme is too low for WCAG. */
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
  // The list is never scrolled, because the keyboard could not reach its scroll bar.
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: 'none' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: 'var(--s1) var(--s3)', minHeight: '1.5rem' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    background: 'var(--selected)',
    color: 'var(--text)',
  },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '620' },
});

/** The path before the cursor: names with dots between them, in quotes where needed. */
const TYPED_PATH = /(?:(?:"(?:[^"]|"")*"|\w+)\.)*(?:"(?:[^"]|"")*|\w*)$/;

/** Completes a path with the names of catalogs, schemas and tables that the signed-in person may see. */
function completeNames(readNamespace: () => { catalog: string; schema: string }) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const typedPath = context.matchBefore(TYPED_PATH)?.text ?? null;
    if (typedPath === null || (typedPath === '' && !context.explicit)) return null;
    const names = [...typedPath.matchAll(/"((?:[^"]|"")*)"?|(\w+)/g)].map(
      ([, quotedName, unquotedName = '']) => quotedName?.replaceAll('""', '"') ?? unquotedName.toLowerCase(),
    );
    const namePart = typedPath === '' || typedPath.endsWith('.') ? '' : (names.pop() ?? '');
    const lastNameLength = /(?:"(?:[^"]|"")*|\w*)$/.exec(typedPath)?.[0].length ?? 0;
    const paths = parentPaths(names, readNamespace());
    const foundNames = await Promise.all(paths.map((path) => readOwnNames(path, namePart)));
    const options = [...new Set(foundNames.flat())].map((name) => ({ label: name, apply: quoteName(name) }));
    // Names in the statement's own schema and catalog come first, in the order of `parentPaths`.
    return options.length === 0 ? null : { from: context.pos - lastNameLength, options };
  };
}

/** The nodes whose children may complete a path. The path may begin below the statement's schema, below its catalog, or at the root. */
function parentPaths(names: readonly string[], { catalog, schema }: { catalog: string; schema: string }): string[][] {
  if (names.length > 2) return [];
  const prefixes = [[catalog, schema], [catalog], []].filter((prefix) => !prefix.includes(''));
  return prefixes.map((prefix) => [...prefix, ...names]).filter((path) => path.length < 3);
}
