import { textOf } from '../graph/post.ts';
import { useService } from '../graph/service.ts';
import { useTexts } from '../texts/texts.ts';
import { useNotices } from './notices.tsx';

/** Copies the operation of a screen, for GraphiQL or for a command line. */
export function CopyAs({ document, variables }: { readonly document: object; readonly variables: object }) {
  const text = useTexts();
  const notify = useNotices();
  const { graph } = useService();
  const copy = async (value: string) => {
    await navigator.clipboard.writeText(value);
    notify(text('copied'));
  };
  const query = textOf(document);
  return (
    <span className="copy-as">
      {text('copyAs')}
      <button type="button" onClick={() => void copy(`${query}\n# ${JSON.stringify(variables)}`)}>
        {text('copyGraphql')}
      </button>
      <button type="button" onClick={() => void copy(curl(graph, query, variables))}>
        {text('copyCurl')}
      </button>
    </span>
  );
}

function curl(graph: string, query: string, variables: object): string {
  const body = JSON.stringify({ query, variables }).replaceAll("'", String.raw`'\''`);
  return `curl ${graph} -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '${body}'`;
}
