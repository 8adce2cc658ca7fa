import { useId } from 'react';
import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Table } from '../ui/table.tsx';
import type { ClientNumbers } from './operations.ts';
import { clientTexts } from './texts.ts';

type Subscription = NonNullable<ClientNumbers['subscriptionDetails']>[number];
/** Rows in the page. A client may have many more subscriptions. */
const MAX_ROWS = 200;

interface SubscriptionsOfClientProps {
  /** `null` if the broker does not know the client. */
  readonly numbers: ClientNumbers | null;
  /** Whether the broker can be queried. */
  readonly isReached: boolean;
}

/** The topic filters that a client subscribes to. */
export function SubscriptionsOfClient({ numbers, isReached }: SubscriptionsOfClientProps) {
  const text = useTexts(clientTexts);
  const numberText = useNumbers();
  const heading = useId();
  const { subscriptionDetails: all = null, numSubscriptions = null } = numbers ?? {};
  const total = numSubscriptions ?? all?.length ?? 0;
  const option = (value: boolean | null) => (value === null ? '–' : text(value ? 'yes' : 'no'));
  const columns: Column<Subscription>[] = [
    { key: 'filter', title: text('topicFilter'), cell: ({ topic }) => topic },
    { key: 'qos', title: text('qos'), isNumber: true, cell: ({ qos }) => qos ?? '–' },
    { key: 'noLocal', title: text('noLocal'), cell: ({ noLocal }) => option(noLocal) },
    { key: 'retain', title: text('retainAsPublished'), cell: ({ retainAsPublished }) => option(retainAsPublished) },
  ];
  return (
    <section aria-labelledby={heading}>
      <h3 id={heading}>
        {text('subscriptions')} {numSubscriptions !== null && `(${numberText(numSubscriptions)})`}
      </h3>
      {all === null && (
        <p className="quiet">{text(numbers !== null ? 'unknown' : isReached ? 'noSession' : 'unknownNow')}</p>
      )}
      {all?.length === 0 && <p className="quiet">{text('noSubscriptions')}</p>}
      {all && all.length > 0 && (
        <Table
          label={text('subscriptions')}
          columns={columns}
          rows={all.slice(0, MAX_ROWS)}
          keyOf={({ topic }) => topic}
          isStale={!isReached}
        />
      )}
      {all && total > MAX_ROWS && <p>{text('moreSubscriptions', { count: numberText(total - MAX_ROWS) })}</p>}
    </section>
  );
}
