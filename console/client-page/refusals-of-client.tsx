import { useId } from 'react';
import { Link } from 'wouter';
import type { ResultOf } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { Limit } from '../refusals/limit.tsx';
import { useRefusalColumns } from '../refusals/refusal-columns.tsx';
import { refusalTexts } from '../refusals/texts.ts';
import { useTexts, useTimes } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Problem } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { useLastKnown } from './last-known.ts';
import { REFUSALS } from './operations.ts';
import { clientTexts } from './texts.ts';

const REFUSALS_MS = 1_000;

type Refusal = NonNullable<NonNullable<ResultOf<typeof REFUSALS>['broker']>['refusals']>['nodes'][number];

interface RefusalsOfClientProps {
  readonly brokerId: string;
  readonly clientId: string;
  /** Whether the broker can be queried. */
  readonly isReached: boolean;
}

/** What the broker refused to a client. */
export function RefusalsOfClient({ brokerId, clientId, isReached }: RefusalsOfClientProps) {
  const text = useTexts(clientTexts);
  const kindText = useTexts(refusalTexts);
  const timeOf = useTimes();
  const heading = useId();
  const { data, error } = useQuery(REFUSALS, { id: brokerId, clientId }, REFUSALS_MS);
  const refusals = useLastKnown(data?.broker?.refusals, error === null);
  const { last, topic, reason, decidedBy, whatHelps, times } = useRefusalColumns(brokerId);
  const kind: Column<Refusal> = { key: 'kind', title: text('kind'), cell: (refusal) => kindText(refusal.kind) };
  return (
    <section aria-labelledby={heading}>
      <h3 id={heading}>
        <Link href={`/brokers/${brokerId}/refusals`}>{text('refusals')}</Link>
      </h3>
      {!refusals && isReached && <Problem error={error} />}
      {!refusals && !isReached && <p className="quiet">{text('deniedUnknown')}</p>}
      {refusals && <Limit refusals={refusals} />}
      {refusals?.totalCount === 0 && <p className="quiet">{text('noRefusals', { time: timeOf(refusals.since) })}</p>}
      {refusals && refusals.totalCount > 0 && (
        <Table
          label={text('refusalsOf', { client: clientId })}
          columns={[last, kind, topic, reason, decidedBy, whatHelps, times]}
          rows={refusals.nodes}
          keyOf={({ id }) => id}
          isStale={!isReached}
        />
      )}
    </section>
  );
}
