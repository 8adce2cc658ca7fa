import { useState } from 'react';
import type { ResultOf } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { payloadText, shortText } from '../messages/payload.ts';
import { PayloadView } from '../messages/payload-view.tsx';
import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { ForwardPager, PAGE } from '../ui/pager.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { DeleteRetained, type Selection } from './delete-retained.tsx';
import { PAUSE_MS } from './pause.ts';
import { topicTexts } from './texts.ts';
import { RETAINED, type RetainedMessage } from './topic-graph.ts';

interface RetainedProps {
  readonly brokerId: string;
  /** A node of a cluster whose nodes have their own topics. */
  readonly node: number | null;
  /** The topic whose branch is shown; `null`: all topics. */
  readonly topic: string | null;
  /** Each reading reads the whole branch from the broker, so it is done only if it is wanted. */
  readonly isOpen: boolean;
  readonly onOpen: (isOpen: boolean) => void;
  readonly canDelete: boolean;
  readonly onDeleted: () => void;
}

/** The retained messages of a branch, which can be deleted. */
export function Retained({ brokerId, node, topic, isOpen, onOpen, canDelete, onDeleted }: RetainedProps) {
  const text = useTexts(topicTexts);
  const filter = topic === null ? '#' : `${topic}/#`;
  return (
    <>
      <h2>{text('retainedMessages')}</h2>
      <p>
        <button type="button" aria-expanded={isOpen} onClick={() => onOpen(!isOpen)}>
          {text(isOpen ? 'hideRetained' : 'readRetained', { filter })}
        </button>
      </p>
      {isOpen && (
        <RetainedList brokerId={brokerId} node={node} filter={filter} canDelete={canDelete} onDeleted={onDeleted} />
      )}
    </>
  );
}

interface RetainedListProps {
  readonly brokerId: string;
  readonly node: number | null;
  readonly filter: string;
  readonly canDelete: boolean;
  readonly onDeleted: () => void;
}

function RetainedList({ brokerId, node, filter, canDelete, onDeleted }: RetainedListProps) {
  const text = useTexts(topicTexts);
  const numberText = useNumbers();
  const [afters, setAfters] = useState<readonly string[]>([]);
  const [readings, setReadings] = useState(0);
  const [selection, setSelection] = useState<Selection | null>(null);
  const { data, error } = useFresh(
    RETAINED,
    { id: brokerId, node, filter, first: PAGE, after: afters.at(-1) ?? null },
    readings,
    PAUSE_MS,
  );
  const retained = data?.broker?.retainedMessages;
  if (!retained) return <Problem error={error} />;
  const listed = listedIn(data);
  const columns: Column<RetainedMessage>[] = [
    {
      key: 'topic',
      title: text('topic'),
      cell: ({ topic }) => <span className="whole">{topic}</span>,
      value: ({ topic }) => topic,
    },
    {
      key: 'payload',
      title: text('payload'),
      cell: (message) => <Preview message={message} />,
      value: ({ payload }) => payload,
    },
    {
      key: 'size',
      title: text('size'),
      cell: ({ payloadBytes }) => (payloadBytes === null ? '–' : text('bytes', { count: numberText(payloadBytes) })),
      value: ({ payloadBytes }) => payloadBytes,
      isNumber: true,
    },
    {
      key: 'inTree',
      title: text('inTree'),
      cell: ({ topic }) => (listed === null ? '–' : text(listed.has(topic) ? 'yes' : 'no')),
    },
    { key: 'qos', title: 'QoS', cell: ({ qos }) => qos ?? '–', isNumber: true },
    {
      key: 'expires',
      title: text('expires'),
      cell: ({ expiresAt }) => <Time isRelative={true} at={expiresAt} />,
      value: ({ expiresAt }) => expiresAt,
    },
  ];
  if (canDelete) {
    columns.push({
      key: 'actions',
      title: text('actions'),
      cell: ({ topic }) => (
        <RowMenu name={topic}>
          <button type="button" className="danger" onClick={() => setSelection({ topics: [topic] })}>
            {text('deleteOf', { topic })}
          </button>
        </RowMenu>
      ),
    });
  }
  return (
    <>
      <p role="status">
        {text('retainedCount', { count: numberText(retained.totalCount), filter })}{' '}
        <button type="button" onClick={() => setReadings(readings + 1)}>
          {text('readAgain')}
        </button>{' '}
        {canDelete && retained.totalCount > 0 && (
          <button type="button" className="danger" onClick={() => setSelection({ filter })}>
            {text(filter === '#' ? 'deleteAll' : 'deleteBranch')}
          </button>
        )}
      </p>
      <p className="quiet">{text('retainedMeans')}</p>
      {retained.completeness !== 'COMPLETE' && <p className="note">{text(retained.completeness)}</p>}
      <Refusal error={error} />
      {retained.nodes.length > 0 && (
        <Table
          name="retained"
          label={text('retainedMessages')}
          columns={columns}
          rows={retained.nodes}
          keyOf={({ topic }) => topic}
        />
      )}
      <ForwardPager
        afters={afters}
        pageInfo={retained.pageInfo}
        isEmpty={retained.nodes.length === 0}
        onAfters={setAfters}
      />
      {selection && (
        <DeleteRetained
          brokerId={brokerId}
          selection={selection}
          onClose={(isChanged) => {
            setSelection(null);
            if (isChanged) onDeleted();
          }}
        />
      )}
    </>
  );
}

/** The topics of the branch that the tree lists; `null` if there are too many to compare. */
function listedIn({ broker }: ResultOf<typeof RETAINED>): ReadonlySet<string> | null {
  const topics = broker?.topicTree?.topics;
  return topics && topics.totalCount <= topics.names.length ? new Set(topics.names) : null;
}

function Preview({ message }: { readonly message: RetainedMessage }) {
  const text = useTexts(topicTexts);
  if (message.payloadBase64 === null) return <>–</>;
  const whole = payloadText(message, 'auto');
  if (whole.length <= 40) return <>{shortText(whole)}</>;
  return (
    <details>
      <summary>{shortText(whole, 40)}</summary>
      <PayloadView label={text('payload')}>{payloadText(message, 'json')}</PayloadView>
      {message.isPayloadTruncated && <small>{text('truncated')}</small>}
    </details>
  );
}
