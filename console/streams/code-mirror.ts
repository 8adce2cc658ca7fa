import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { bracketMatching, syntaxHighlighting } from '@codemirror/language';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';

/** Gives parts of the text classes by the names of their kinds, which LOOK colours for light and dark. */
const PARTS: Parameters<typeof syntaxHighlighting>[0] = { style: ([tag]) => `json-${tag}` };

const LOOK = EditorView.theme({
  '&': { border: '1px solid var(--quiet)', borderRadius: '0.375rem', background: 'var(--back)', color: 'var(--text)' },
  '&.cm-focused': { outline: '3px solid var(--accent)' },
  '.cm-content': { fontFamily: 'ui-monospace, monospace', minHeight: '8rem', caretColor: 'var(--text)' },
  '.cm-gutters': { background: 'var(--panel)', color: 'var(--quiet)', border: 'none' },
  '.json-propertyName': { color: 'var(--accent)' },
  '.json-string': { color: 'var(--good)' },
  '.json-number, .json-bool, .json-null': { color: 'var(--bad)' },
  '.cm-scroller': { maxHeight: '24rem', overflow: 'auto' },
});

/**
 * Opens an editor. It is in a shadow root, in which CodeMirror uses constructed style sheets: its `<style>` elements
 * are refused by the Content Security Policy. The Tab key leaves the editor. Returns how to close it.
 */
export function openEditor(place: HTMLElement, label: string, value: string, onChange: (text: string) => void) {
  const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' });
  const view = new EditorView({
    doc: value,
    parent: root,
    root,
    extensions: [
      lineNumbers(),
      history(),
      bracketMatching(),
      json(),
      syntaxHighlighting(PARTS),
      LOOK,
      EditorView.lineWrapping,
      keymap.of([...defaultKeymap, ...historyKeymap]),
      EditorView.contentAttributes.of({ 'aria-label': label }),
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (docChanged) onChange(state.doc.toString());
      }),
    ],
  });
  return () => view.destroy();
}
