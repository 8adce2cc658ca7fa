import { Workflow } from 'lucide-react';
import { useSearchParams } from 'wouter';
import { useBroker, useIsReached } from '../broker/broker-context.ts';
import { useLive } from '../graph/live.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { contains } from '../ui/contains.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { FilterBar } from '../ui/filter-bar.tsx';
import { LiveMark } from '../ui/live-mark.tsx';
import { NoMatch } from '../ui/no-match.tsx';
import { Problem } from '../ui/problem.tsx';
import { StreamDetail } from './stream-detail.tsx';
import { StreamForm } from './stream-form.tsx';
import { RIGHTS, STREAMS, type Stream, type StreamsEvent } from './stream-graph.ts';
import { StreamList } from './stream-list.tsx';
import { streamTexts } from './texts.ts';
import './style.css';

interface Listed {
  readonly streams: ReadonlyMap<string, Stream>;
  readonly isComplete: boolean;
  readonly isConnected: boolean;
}

function apply(before: Listed | null, event: StreamsEvent): Listed {
  const streams = new Map(before?.streams);
  for (const name of event.removed) streams.delete(name);
  for (const stream of event.streams) streams.set(stream.name, stream);
  return { streams, isComplete: event.partsLeft === 0, isConnected: event.isConnected ?? before?.isConnected ?? true };
}

/** The streams of a broker with their states and counters; one of them can be opened, changed and replayed. */
export function Streams() {
  const text = useTexts(streamTexts);
  const broker = useBroker();
  const [address, setAddress] = useSearchParams();
  const { data, error } = useQuery(RIGHTS, { id: broker.id });
  const { state, isLive: isFollowed } = useLive(STREAMS, { brokerId: broker.id }, ({ streams }) => streams, apply);
  const isLive = useIsReached() && isFollowed;
  if (data === null || state === null) return <Problem error={error} />;
  const canCreate = data.broker?.viewerCanCreateStreams === true;
  const canRead = data.broker?.viewerCanReadMessages === true;
  const name = address.get('stream');
  const stream = name === null ? null : state.streams.get(name);
  const isEdited = address.has('edit');
  const open = (next: Record<string, string>) => setAddress(next);
  const isEmpty = state.isComplete && state.streams.size === 0;
  const shown = [...state.streams.values()].filter((one) =>
    contains(address.get('search') ?? '', [one.name, one.textName, one.sourceTopic, one.targetTopic]),
  );
  const create = canCreate && (
    <button type="button" className="primary" onClick={() => open({ new: 'stream' })}>
      {text('newStream')}
    </button>
  );
  if (canCreate && address.has('new')) {
    return (
      <StreamForm
        brokerId={broker.id}
        stream={null}
        canRead={canRead}
        onClose={() => open({})}
        onSaved={(created) => open({ stream: created })}
      />
    );
  }
  if (stream && isEdited && stream.viewerCanUpdate) {
    return (
      <StreamForm
        key={stream.name}
        brokerId={broker.id}
        stream={stream}
        canRead={canRead}
        onClose={() => open({ stream: stream.name })}
        onSaved={() => open({ stream: stream.name })}
      />
    );
  }
  return (
    <>
      <FilterBar
        keys={['search']}
        search={isEmpty ? undefined : { name: 'search', label: text('find') }}
        actions={
          <>
            <LiveMark isLive={isLive} />
            <CopyAs document={STREAMS} variables={{ brokerId: broker.id }} />
            {!isEmpty && create}
          </>
        }
      />
      {!state.isConnected && <p className="note">{text('lastKnown')}</p>}
      {data.broker?.streams?.problem && <p className="note">{data.broker.streams.problem}</p>}
      {isEmpty && (
        <Empty icon={Workflow} title={text('noStreams')}>
          {create}
        </Empty>
      )}
      {!isEmpty && shown.length === 0 && <NoMatch title={text('noMatch')} keys={['search']} />}
      {shown.length > 0 && (
        <StreamList
          brokerId={broker.id}
          streams={shown}
          isStale={!isLive}
          selected={name}
          onOpen={(opened) => open({ stream: opened })}
          onEdit={(edited) => open({ stream: edited, edit: 'stream' })}
        />
      )}
      {stream && <StreamDetail key={stream.name} brokerId={broker.id} stream={stream} />}
      {stream === undefined && <p role="alert">{text('noStream', { name })}</p>}
    </>
  );
}
