import { useEffect, useRef, useState } from 'react';
import type { RefusedError } from '../graph/refused.ts';
import { useService } from '../graph/service.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { csvLines, saveFile } from '../ui/csv.ts';
import { Refusal } from '../ui/problem.tsx';
import { CLIENTS, type ClientRow } from './operations.ts';
import type { Selection } from './selection.ts';
import { clientsTexts } from './texts.ts';

/** Rows in one request. Dropped messages cost one request to the broker for each client. */
const PAGE = 1_000;
const PAGE_WITH_DROPS = 100;

interface CsvExportProps {
  readonly brokerId: string;
  readonly name: string;
  readonly selection: Selection;
  readonly columns: readonly Column<ClientRow>[];
}

/** Saves all selected clients as a CSV file, page by page. */
export function CsvExport({ brokerId, name, selection, columns }: CsvExportProps) {
  const text = useTexts(clientsTexts);
  const numberText = useNumbers();
  const { ask } = useService();
  const [progress, setProgress] = useState<{ read: number; total: number } | null>(null);
  const [error, setError] = useState<RefusedError | null>(null);
  const run = useRef<{ isCancelled: boolean }>({ isCancelled: true });
  const cancel = () => {
    run.current.isCancelled = true;
    setProgress(null);
  };
  useEffect(() => cancel, []);
  const save = async () => {
    const own = { isCancelled: false };
    run.current = own;
    setError(null);
    setProgress({ read: 0, total: 0 });
    const first = selection.withDrops ? PAGE_WITH_DROPS : PAGE;
    const parts = [csvLines(columns, [], true)];
    let after: string | null = null;
    let read = 0;
    do {
      const variables: { readonly after: string | null } = { after };
      const { data, error: problem } = await ask(CLIENTS, { id: brokerId, ...selection, first, ...variables });
      if (own.isCancelled) return;
      const page = data?.broker?.connectedClients;
      if (!page) {
        setError(problem);
        setProgress(null);
        return;
      }
      // As text, because rows need several times the memory.
      parts.push(csvLines(columns, page.nodes));
      read += page.nodes.length;
      setProgress({ read, total: page.totalCount });
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
    } while (after !== null);
    saveFile(`${name}.csv`, 'text/csv', parts);
    setProgress(null);
  };
  if (progress === null) {
    return (
      <>
        <button type="button" className="ghost" onClick={() => void save()}>
          {text('csv')}
        </button>
        <Refusal error={error} />
      </>
    );
  }
  const { read, total } = progress;
  return (
    <span className="clients-progress">
      <progress aria-label={text('csv')} value={read} max={Math.max(1, total)} />{' '}
      {text('progress', { read: numberText(read), total: numberText(total) })}{' '}
      <button type="button" onClick={cancel}>
        {text('cancel')}
      </button>
    </span>
  );
}
