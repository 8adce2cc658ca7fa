import { useState } from 'react';
import { useMutation } from '../graph/use-mutation.ts';
import { DEFAULTS } from '../problems/threshold-defaults.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { WithTooltip } from '../ui/as-sent.tsx';
import type { Column } from '../ui/column.ts';
import { Refusal } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Table } from '../ui/table.tsx';
import { DeleteStream } from './delete-stream.tsx';
import { ReplayForm } from './replay-form.tsx';
import { DISABLE, ENABLE, type Stream } from './stream-graph.ts';
import { streamTexts } from './texts.ts';

interface StreamListProps {
  readonly brokerId: string;
  readonly streams: readonly Stream[];
  readonly isStale: boolean;
  readonly selected: string | null;
  readonly onOpen: (name: string) => void;
  readonly onEdit: (name: string) => void;
}

type Counter = 'received' | 'published' | 'stored' | 'filtered' | 'failed';

/** The streams in a table, with what can be done with each. */
export function StreamList({ brokerId, streams, isStale, selected, onOpen, onEdit }: StreamListProps) {
  const text = useTexts(streamTexts);
  const numberText = useNumbers();
  const [deleted, setDeleted] = useState<Stream | null>(null);
  const [replayed, setReplayed] = useState<Stream | null>(null);
  const enable = useMutation(ENABLE);
  const disable = useMutation(DISABLE);
  const counter = (key: Counter): Column<Stream> => ({
    key,
    title: text(key),
    cell: ({ counters }) => (counters ? numberText(counters[key]) : '–'),
    value: ({ counters }) => counters?.[key],
    isNumber: true,
  });
  const columns: Column<Stream>[] = [
    {
      key: 'name',
      title: text('name'),
      cell: ({ name, textName }) => (
        <button type="button" className="link" aria-pressed={name === selected} onClick={() => onOpen(name)}>
          {textName ? `${textName} (${name})` : name}
        </button>
      ),
      value: ({ name }) => name,
    },
    {
      key: 'state',
      title: text('state'),
      cell: ({ state, isActive, problem, counters }) => {
        const word = text(state ?? (isActive ? 'active' : 'INACTIVE'));
        const percent = counters ? Math.round((100 * counters.failed) / Math.max(1, counters.received)) : 0;
        const isFailing = state === 'RUNNING' && percent >= DEFAULTS.streamFailedPercent.fallback;
        return (
          <WithTooltip className={`state ${isFailing ? 'DEGRADED' : state}`} tooltip={problem}>
            {isFailing ? text('failing', { state: word, percent }) : word}
          </WithTooltip>
        );
      },
      value: ({ state }) => state,
    },
    {
      key: 'source',
      title: text('source'),
      cell: ({ sourceTopic }) => <span className="whole">{sourceTopic}</span>,
      value: ({ sourceTopic }) => sourceTopic,
    },
    {
      key: 'target',
      title: text('target'),
      cell: ({ targetTopic }) => <span className="whole">{targetTopic ?? '–'}</span>,
      value: ({ targetTopic }) => targetTopic,
    },
    counter('received'),
    counter('published'),
    counter('stored'),
    counter('filtered'),
    counter('failed'),
    {
      key: 'actions',
      title: text('actions'),
      cell: (stream) =>
        (stream.viewerCanUpdate || stream.viewerCanDelete) && <RowMenu name={stream.name}>{actionsOf(stream)}</RowMenu>,
    },
  ];
  const actionsOf = (stream: Stream) => {
    const { name, isActive, persist, viewerCanUpdate, viewerCanDelete } = stream;
    const switching = isActive ? disable : enable;
    return (
      <>
        {viewerCanUpdate && (
          <>
            <button type="button" onClick={() => onEdit(name)}>
              {text('changeOf', { name })}
            </button>
            <button
              type="button"
              disabled={switching.isBusy}
              onClick={() => void switching.run({ input: { brokerId, name } })}
            >
              {text(isActive ? 'switchOffOf' : 'switchOnOf', { name })}
            </button>
            {persist && (
              <button type="button" onClick={() => setReplayed(stream)}>
                {text('replayOf', { name })}
              </button>
            )}
          </>
        )}
        {viewerCanDelete && (
          <button type="button" className="danger" onClick={() => setDeleted(stream)}>
            {text('deleteOf', { name })}
          </button>
        )}
      </>
    );
  };
  return (
    <>
      <Refusal error={enable.error ?? disable.error} />
      <Table
        name="streams"
        label={text('streams')}
        columns={columns}
        rows={streams}
        keyOf={({ name }) => name}
        isStale={isStale}
      />
      {deleted && <DeleteStream brokerId={brokerId} stream={deleted} onClose={() => setDeleted(null)} />}
      {replayed && (
        <ReplayForm
          brokerId={brokerId}
          stream={replayed}
          onClose={() => setReplayed(null)}
          onStarted={() => {
            onOpen(replayed.name);
            setReplayed(null);
          }}
        />
      )}
    </>
  );
}
