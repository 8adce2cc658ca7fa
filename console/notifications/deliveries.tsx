import { Send } from 'lucide-react';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { NoMatch } from '../ui/no-match.tsx';
import { useNotices } from '../ui/notices.tsx';
import { CURSOR_KEYS, CursorPager, rangeOf, useCursor } from '../ui/pager.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { DELIVERIES, type Delivery, RESEND } from './channel-graph.ts';
import { useContentWords } from './content-words.ts';
import { DeliveryState } from './delivery-state.tsx';
import { ResponseOf } from './response-of.tsx';
import { channelTexts } from './texts.ts';

const STATES = ['PENDING', 'DELIVERED', 'DEAD'] as const;
/** While messages are sent, their states change. */
const EVERY_MS = 3_000;

interface DeliveriesProps {
  readonly channelId: string;
  /** From the address. */
  readonly state: string | null;
  readonly onState: (state: string) => void;
}

/** The messages of a channel, the newest first, and what the receiver responded. */
export function Deliveries({ channelId: id, state: wanted, onState }: DeliveriesProps) {
  const text = useTexts(channelTexts);
  const numberText = useNumbers();
  const contentText = useContentWords();
  const notify = useNotices();
  const resend = useMutation(RESEND);
  const { cursor, onCursor } = useCursor();
  const state = STATES.find((known) => known === wanted) ?? null;
  const variables = { id, state, ...rangeOf(cursor) };
  const { data, error, renew } = useQuery(DELIVERIES, variables, EVERY_MS);
  const node = data?.node;
  const found = node && 'deliveries' in node ? node.deliveries : null;
  if (found === null) return <Problem error={error} />;
  const sendAgain = async ({ id: deliveryId, number }: Delivery) => {
    if ((await resend.run({ input: { channelId: id, deliveryId } })) === null) return;
    notify(text('resent', { number }));
    renew();
  };
  const columns: Column<Delivery>[] = [
    { key: 'number', title: text('number'), cell: ({ number }) => `#${number}`, value: ({ number }) => number },
    { key: 'content', title: text('content'), cell: ({ content }) => contentText(content) },
    {
      key: 'state',
      title: text('state'),
      cell: (delivery) => <DeliveryState delivery={delivery} />,
      value: (delivery) => delivery.state,
    },
    { key: 'attempts', title: text('attempts'), cell: ({ attempts }) => numberText(attempts), isNumber: true },
    {
      key: 'lastAttempt',
      title: text('lastAttempt'),
      cell: ({ lastAttemptAt }) => <Time isRelative={true} at={lastAttemptAt} />,
      value: ({ lastAttemptAt }) => lastAttemptAt,
    },
    {
      key: 'nextAttempt',
      title: text('nextAttempt'),
      cell: ({ nextAttemptAt }) => <Time isRelative={true} at={nextAttemptAt} />,
      value: ({ nextAttemptAt }) => nextAttemptAt,
    },
    {
      key: 'response',
      title: text('response'),
      cell: (delivery) => <ResponseOf outcome={delivery} />,
      value: (delivery) => delivery.error ?? delivery.responseStatus,
    },
    {
      key: 'actions',
      title: text('actions'),
      cell: (delivery) =>
        delivery.state !== 'PENDING' && (
          <RowMenu name={String(delivery.number)}>
            <button type="button" disabled={resend.isBusy} onClick={() => void sendAgain(delivery)}>
              {text('resendOf', { number: delivery.number })}
            </button>
          </RowMenu>
        ),
    },
  ];
  const { nodes, totalCount, pageInfo } = found;
  return (
    <section>
      <header className="screen">
        <h2>{text('deliveries')}</h2>
        <label>
          {text('state')}{' '}
          <select value={state ?? ''} onChange={({ currentTarget: { value } }) => onState(value)}>
            <option value="">{text('any')}</option>
            {STATES.map((one) => (
              <option key={one} value={one}>
                {text(one)}
              </option>
            ))}
          </select>
        </label>
      </header>
      <Refusal error={error ?? resend.error} />
      {nodes.length === 0 && state === null && <Empty icon={Send} title={text('noDeliveries')} />}
      {nodes.length === 0 && state !== null && <NoMatch title={text('noneInState')} keys={['state', ...CURSOR_KEYS]} />}
      {nodes.length > 0 && (
        <Table
          name="deliveries"
          label={text('deliveries')}
          columns={columns}
          rows={nodes}
          keyOf={(delivery) => delivery.id}
        />
      )}
      <CursorPager cursor={cursor} total={totalCount} pageInfo={pageInfo} onCursor={onCursor} />
      <CopyAs document={DELIVERIES} variables={variables} />
    </section>
  );
}
