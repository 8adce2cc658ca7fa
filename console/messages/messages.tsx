import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { useBroker } from '../broker/broker-context.ts';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { FilterBar, FilterSelect } from '../ui/filter-bar.tsx';
import { Problem } from '../ui/problem.tsx';
import { FilterRows } from './filter-rows.tsx';
import { MessageDetail } from './message-detail.tsx';
import { MESSAGES, PAYLOAD_BYTES, RIGHTS } from './message-graph.ts';
import { MessageList } from './message-list.tsx';
import { STORED, type TailedMessage } from './message-tail.ts';
import { FORMATS, formatIn } from './payload.ts';
import { payloadTexts } from './payload-texts.ts';
import { Publish } from './publish.tsx';
import { messageTexts } from './texts.ts';
import { useTail } from './use-tail.ts';

/** Messages per second; the first one unless another is chosen. */
const RATES = [100, 10, 1_000];

/** Messages as they arrive, and a form that publishes one. */
export function Messages() {
  const text = useTexts(messageTexts);
  const broker = useBroker();
  const { data, error } = useQuery(RIGHTS, { id: broker.id });
  if (data === null) return <Problem error={error} />;
  return (
    <>
      {data.broker?.viewerCanPublishMessages === true && <Publish brokerId={broker.id} />}
      {data.broker?.viewerCanReadMessages === true ? (
        <Tail brokerId={broker.id} />
      ) : (
        <p className="note">{text('forEditors')}</p>
      )}
    </>
  );
}

function Tail({ brokerId }: { readonly brokerId: string }) {
  const text = useTexts(messageTexts);
  const formatText = useTexts(payloadTexts);
  const numberText = useNumbers();
  const [address, setAddress] = useSearchParams();
  const wanted = [...new Set(address.getAll('filter'))];
  const maxRate = RATES.find((rate) => rate === Number(address.get('rate'))) ?? (RATES[0] as number);
  const format = formatIn(address.get('format'));
  const search = address.get('show') ?? '';
  const { messages, filters } = useTail(brokerId, wanted, maxRate);
  /** The list when it was paused. */
  const [paused, setPaused] = useState<readonly TailedMessage[] | null>(null);
  const [selected, setSelected] = useState<TailedMessage | null>(null);
  const setFilters = (values: readonly string[]) => {
    const next = new URLSearchParams(address);
    next.delete('filter');
    for (const value of values) next.append('filter', value);
    setAddress(next);
  };
  const received = filters.reduce((sum, filter) => sum + filter.received, 0);
  const newest = paused?.[0]?.key ?? 0;
  const waiting = messages.filter(({ key }) => key > newest).length;
  return (
    <>
      <FilterRows
        filters={filters}
        onAdd={(filter) => setFilters([...wanted, filter])}
        onRemove={(filter) => setFilters(wanted.filter((other) => other !== filter))}
      />
      {wanted.length > 0 && (
        <>
          <FilterBar
            keys={['show', 'format', 'rate']}
            search={{ name: 'show', label: text('filterShown') }}
            actions={
              <CopyAs
                document={MESSAGES}
                variables={{ brokerId, filter: wanted[0], maxRate, maxPayloadBytes: PAYLOAD_BYTES }}
              />
            }
          >
            <FilterSelect
              name="format"
              label={formatText('format')}
              options={FORMATS.map((one) => [one, formatText(one)])}
            />
            <FilterSelect
              name="rate"
              label={text('maxRate')}
              options={RATES.map((rate) => [String(rate), text('atMost', { rate: numberText(rate) })])}
            />
            <button
              type="button"
              aria-pressed={paused !== null}
              onClick={() => setPaused(paused === null ? messages : null)}
            >
              {text(paused === null ? 'pause' : 'resume')}
            </button>
          </FilterBar>
          <p className="quiet">
            {text('bound', { stored: numberText(STORED), received: numberText(received) })}
            {paused !== null && ` ${text('waiting', { count: numberText(waiting) })}`}
          </p>
          {selected && (
            <MessageDetail brokerId={brokerId} message={selected} format={format} onClose={() => setSelected(null)} />
          )}
          <MessageList messages={paused ?? messages} search={search} format={format} onSelect={setSelected} />
        </>
      )}
    </>
  );
}
