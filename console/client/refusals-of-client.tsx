import { useId } from 'react';
import { Link } from 'wouter';
import { useQuery } from '../graph/use-query.ts';
import { type RefusalReason, reasonTexts } from '../refusals/reason-texts.ts';
import { type RefusalKind, refusalTexts } from '../refusals/texts.ts';
import { useNumbers, useTexts, useTimes } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Problem } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { REFUSALS } from './operations.ts';
import { clientTexts } from './texts.ts';

const REFUSALS_MS = 1_000;

interface Refusal {
  readonly id: string;
  readonly lastAt: string;
  readonly kind: RefusalKind;
  readonly reason: RefusalReason;
  readonly topic: string | null;
  readonly detail: string | null;
  readonly count: number;
  readonly whatWouldHelp: string;
}

interface RefusalsOfClientProps {
  readonly brokerId: string;
  readonly clientId: string;
}

/** What the broker refused to a client. */
export function RefusalsOfClient({ brokerId, clientId }: RefusalsOfClientProps) {
  const text = useTexts(clientTexts);
  const reasonText = useTexts(reasonTexts);
  const kindText = useTexts(refusalTexts);
  const timeOf = useTimes();
  const numberText = useNumbers();
  const heading = useId();
  const { data, error } = useQuery(REFUSALS, { id: brokerId, clientId }, REFUSALS_MS);
  const refusals = data?.broker?.refusals;
  const columns: Column<Refusal>[] = [
    { key: 'last', title: text('last'), cell: ({ lastAt }) => <Time at={lastAt} />, value: ({ lastAt }) => lastAt },
    { key: 'kind', title: text('kind'), cell: ({ kind }) => kindText(kind) },
    { key: 'topic', title: text('topic'), cell: ({ topic }) => topic ?? '–' },
    {
      key: 'reason',
      title: text('reason'),
      cell: ({ reason, detail }) => <span title={detail ?? undefined}>{reasonText(reason)}</span>,
      value: ({ reason }) => reasonText(reason),
    },
    { key: 'help', title: text('whatHelps'), cell: ({ whatWouldHelp }) => whatWouldHelp },
    {
      key: 'times',
      title: text('times'),
      isNumber: true,
      cell: ({ count }) => numberText(count),
      value: ({ count }) => count,
    },
  ];
  return (
    <section aria-labelledby={heading}>
      <h3 id={heading}>
        <Link href={`/brokers/${brokerId}/refusals`}>{text('refusals')}</Link>
      </h3>
      {!refusals && <Problem error={error} />}
      {refusals?.limit && <p className="note">{refusals.limit}</p>}
      {refusals?.totalCount === 0 && <p className="quiet">{text('noRefusals', { time: timeOf(refusals.since) })}</p>}
      {refusals && refusals.totalCount > 0 && (
        <Table
          label={text('refusalsOf', { client: clientId })}
          columns={columns}
          rows={refusals.nodes}
          keyOf={({ id }) => id}
        />
      )}
    </section>
  );
}
