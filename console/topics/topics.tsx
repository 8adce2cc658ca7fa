import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { useBroker, useIsReached } from '../broker/broker-context.ts';
import { useLive } from '../graph/live.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { CopyAs } from '../ui/copy-as.tsx';
import { FilterBar, FilterSelect } from '../ui/filter-bar.tsx';
import { LiveMark } from '../ui/live-mark.tsx';
import { Problem } from '../ui/problem.tsx';
import { Found, termsOf } from './found.tsx';
import { PAUSE_MS } from './pause.ts';
import { Recording } from './recording.tsx';
import { Retained } from './retained.tsx';
import { topicTexts } from './texts.ts';
import { TopicDetail } from './topic-detail.tsx';
import { CHANGES, LEVELS, OVERVIEW, type Place, type TopicKind } from './topic-graph.ts';
import { TopicTree } from './topic-tree.tsx';
import './style.css';

/** The topics in use: a tree or what a search found, and the selected topic. */
export function Topics() {
  const text = useTexts(topicTexts);
  const numberText = useNumbers();
  const broker = useBroker();
  const [address, setAddress] = useSearchParams();
  const kind: TopicKind = address.get('kind') === 'SUBSCRIBED' ? 'SUBSCRIBED' : 'PUBLISHED';
  const node = address.has('node') ? Number(address.get('node')) : null;
  const place: Place = { id: broker.id, node, kind };
  const topic = address.get('topic');
  const search = address.get('search') ?? '';
  const isReached = useIsReached();
  const { state: sequence, isLive } = useLive(
    CHANGES,
    { brokerId: broker.id, kind },
    ({ topics }) => topics,
    (_before, event) => event.sequence,
  );
  // After a deletion the retained messages are read again.
  const [deletions, setDeletions] = useState(0);
  const { data, error } = useFresh(OVERVIEW, { ...place }, sequence, PAUSE_MS);
  const set = (name: string, value: string | null, replace = false) => {
    const next = new URLSearchParams(address);
    if (value === null) next.delete(name);
    else next.set(name, value);
    setAddress(next, { replace });
  };
  if (data === null) return <Problem error={error} />;
  const found = data.broker;
  const tree = found?.topicTree ?? null;
  const nodes = found?.topicTrees ?? [];
  const isSelected = (value: string) => value === topic;
  return (
    <>
      <FilterBar
        keys={['search', 'kind', 'node']}
        search={{ name: 'search', label: text('searchTopics'), title: text('searchHint') }}
        actions={
          <>
            {typeof tree?.count === 'number' && <span>{text('count', { count: numberText(tree.count) })}</span>}
            <LiveMark isLive={isLive && isReached} />
            <CopyAs document={LEVELS} variables={{ ...place, first: 100 }} />
          </>
        }
      >
        <FilterSelect
          name="kind"
          label={text('kind')}
          options={[
            ['PUBLISHED', text('PUBLISHED')],
            ['SUBSCRIBED', text('SUBSCRIBED')],
          ]}
        />
        {nodes.length > 0 && (
          <FilterSelect
            name="node"
            label={text('node')}
            any="–"
            options={nodes.map(({ nodeId }) => [String(nodeId), text('nodeOf', { node: nodeId })])}
          />
        )}
      </FilterBar>
      {tree === null && <p className="note">{text(nodes.length > 0 ? 'chooseNode' : 'noTree')}</p>}
      {tree && (
        <>
          <Recording
            key={`${broker.id} ${node}`}
            brokerId={broker.id}
            node={node}
            tree={tree}
            kind={kind}
            canChange={found?.viewerCanUpdateTopicTree === true}
          />
          {tree.count === 0 && (
            <>
              <p>{text(kind === 'PUBLISHED' ? 'noTopics' : 'noFilters')}</p>
              {kind === 'PUBLISHED' && <CommandToCopy command={publishCommand(broker.url)} />}
            </>
          )}
          <div className="topics">
            <section className="card" aria-label={text('topics')}>
              {tree.count === 0 ? null : search === '' ? (
                <TopicTree place={place} version={sequence} topic={topic} onSelect={(value) => set('topic', value)} />
              ) : (
                <Found
                  key={`${kind} ${node} ${search}`}
                  place={place}
                  version={sequence}
                  terms={termsOf(search)}
                  isSelected={isSelected}
                  onSelect={(value) => set('topic', value)}
                />
              )}
            </section>
            <section className="card" aria-label={text('selected')}>
              {topic === null ? (
                <p className="quiet">{text('nothingSelected')}</p>
              ) : (
                <TopicDetail key={`${kind} ${node} ${topic}`} place={place} topic={topic} version={sequence} />
              )}
              {found?.viewerCanReadMessages === true && kind === 'PUBLISHED' && (
                <Retained
                  key={`${node} ${topic} ${deletions}`}
                  brokerId={broker.id}
                  node={node}
                  topic={topic}
                  isOpen={address.has('retained')}
                  onOpen={(isOpen) => set('retained', isOpen ? 'shown' : null, true)}
                  canDelete={found.viewerCanDeleteRetainedMessages}
                  onDeleted={() => setDeletions((count) => count + 1)}
                />
              )}
              {found?.viewerCanReadMessages === false && <p className="note">{text('payloadsForEditors')}</p>}
            </section>
          </div>
        </>
      )}
    </>
  );
}

function publishCommand(url: string | null): string {
  const { hostname, port } = new URL(url ?? 'mqtt://127.0.0.1:1883');
  return `mosquitto_pub -h ${hostname} -p ${port || 1883} -u USER -P PASSWORD -t plant/line1/temperature -m 21.5`;
}
