import { ScrollText } from 'lucide-react';
import { useEffect } from 'react';
import type { RefusedError } from '../graph/refused.ts';
import { useDays, useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { LiveMark } from '../ui/live-mark.tsx';
import { CursorPager, type CursorPagerProps, isFirst } from '../ui/pager.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import type { Entry, NewEntries } from './audit-entry.ts';
import { useAuditFilter } from './audit-filter.ts';
import { codeTexts } from './code-texts.ts';
import { isPreview } from './differences.ts';
import { useEntryColumns } from './entry-columns.tsx';
import { FilterForm } from './filter-form.tsx';
import { auditTexts } from './texts.ts';
import { targetText } from './what.tsx';
import './style.css';

interface AuditViewProps {
  /** Why the page could not be loaded. */
  readonly error: RefusedError | null;
  /** `null`: not loaded yet. */
  readonly page: {
    readonly totalCount: number;
    readonly pageInfo: CursorPagerProps['pageInfo'];
    readonly nodes: readonly Entry[];
  } | null;
  readonly added: NewEntries | null;
  readonly isLive: boolean;
  /** Reads the page again, because entries may be missing between it and the live ones. */
  readonly onSnapshot: () => void;
  readonly document: object;
  readonly variables: object;
}

/** Entries of the audit, newest first, with a filter. New ones appear on the first page. */
export function AuditView({ error, page, added, isLive, onSnapshot, document, variables }: AuditViewProps) {
  const text = useTexts(auditTexts);
  const reason = useTexts(codeTexts);
  const { cursor, onCursor } = useAuditFilter();
  const dayOf = useDays();
  const since = added?.since;
  useEffect(() => {
    if (since !== undefined) onSnapshot();
  }, [since]);
  const isNewest = isFirst(cursor);
  const all = new Map<string, Entry>();
  for (const entry of [...(isNewest ? (added?.entries ?? []) : []), ...(page?.nodes ?? [])]) all.set(entry.id, entry);
  const entries = [...all.values()].sort((a, b) => b.sequence - a.sequence);
  const columns: Column<Entry>[] = [
    { key: 'at', title: text('time'), cell: ({ at }) => <Time at={at} />, value: ({ at }) => at },
    ...useEntryColumns(),
    {
      key: 'result',
      title: text('result'),
      cell: ({ result, code, after: now }) => (
        <span className={`result ${result}`}>
          {text(result)}
          {code !== null && `: ${reason(code)}`}
          {isPreview(now) && ` (${text('preview')})`}
        </span>
      ),
      value: ({ result, code }) => [result, code].filter((part) => part !== null).join(' '),
    },
  ];
  const onlyInFile: Column<Entry>[] = [
    { key: 'target', title: text('target'), cell: targetText },
    { key: 'broker', title: text('broker'), cell: ({ broker }) => broker?.name },
    { key: 'project', title: text('project'), cell: ({ project }) => project?.name },
    { key: 'operation', title: text('operation'), cell: ({ operation }) => operation },
    { key: 'via', title: text('via'), cell: ({ via }) => text(`via${via}`) },
    { key: 'change', title: text('change'), cell: ({ before, after: now }) => JSON.stringify({ before, after: now }) },
  ];
  if (page === null && error !== null) return <Refusal error={error} />;
  return (
    <>
      <Refusal error={error} />
      <FilterForm />
      <p className="actions">
        {isNewest && <LiveMark isLive={isLive} />}
        <CopyAs document={document} variables={variables} />
      </p>
      {page === null && <Problem error={null} />}
      {page !== null && entries.length === 0 && (
        <Empty icon={ScrollText} title={text('noEntries')}>
          <CommandToCopy command="brokergraph audit export" />
        </Empty>
      )}
      {entries.length > 0 && (
        <Table
          name="audit"
          label={text('audit')}
          columns={[...columns, ...onlyInFile.map((column) => ({ ...column, isHidden: true }))]}
          rows={entries}
          keyOf={({ id }) => id}
          groupOf={({ at }) => dayOf(at)}
          isStale={isNewest && !isLive}
        />
      )}
      {page && (
        <CursorPager
          cursor={cursor}
          total={page.totalCount + entries.length - page.nodes.length}
          pageInfo={page.pageInfo}
          onCursor={onCursor}
        />
      )}
    </>
  );
}
