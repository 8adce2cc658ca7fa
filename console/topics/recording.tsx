import { useState } from 'react';
import type { ResultOf } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Refusal } from '../ui/problem.tsx';
import { useDurations } from '../ui/use-durations.ts';
import { topicTexts } from './texts.ts';
import { type OVERVIEW, SET_TTL, type TopicKind } from './topic-graph.ts';

type Tree = NonNullable<NonNullable<ResultOf<typeof OVERVIEW>['broker']>['topicTree']>;

interface RecordingProps {
  readonly brokerId: string;
  readonly node: number | null;
  readonly tree: Tree;
  readonly kind: TopicKind;
  readonly canChange: boolean;
}

/** How long topics stay listed, what is missing in their recording, and why. */
export function Recording({ brokerId, node, tree, kind, canChange }: RecordingProps) {
  const text = useTexts(topicTexts);
  const numberText = useNumbers();
  const notes = [
    tree.state === 'RECORDING' ? null : text(tree.state),
    tree.deniedFilters.length > 0 ? text('denied', { filters: tree.deniedFilters.join(', ') }) : null,
    tree.isTruncated ? text('leftOut', { count: numberText(tree.leftOut) }) : null,
    tree.droppedByBroker ? text('dropped', { count: numberText(tree.droppedByBroker) }) : null,
  ].filter((note) => note !== null);
  const sent = [tree.reason, kind === 'SUBSCRIBED' ? tree.unavailable?.subscribed : null];
  return (
    <>
      {[...new Set(sent)].map(
        (note) =>
          note && (
            <p key={note} className="note" lang="en">
              {note}
            </p>
          ),
      )}
      {notes.map((note) => (
        <p key={note} className="note">
          {note}
        </p>
      ))}
      {tree.settings &&
        (canChange ? (
          <Retention brokerId={brokerId} node={node} ttl={tree.settings.ttl} />
        ) : (
          <p className="quiet">{text('listedFor', { duration: numberText(tree.settings.ttl / 60) })}</p>
        ))}
    </>
  );
}

/** From five minutes to 30 days, in seconds. */
const TTLS = [300, 3_600, 21_600, 86_400, 604_800, 2_592_000];

interface RetentionProps extends Pick<RecordingProps, 'brokerId' | 'node'> {
  readonly ttl: number;
}

function Retention({ brokerId, node, ttl }: RetentionProps) {
  const text = useTexts(topicTexts);
  const durationOf = useDurations();
  const { run, isBusy, error } = useMutation(SET_TTL);
  /** The tree has it with its next change. */
  const [chosen, setChosen] = useState<number | null>(null);
  const choose = async (value: number) => {
    const done = await run({ input: { brokerId, ttl: value, ...(node !== null && { nodeId: node }) } });
    if (done !== null) setChosen(value);
  };
  return (
    <p className="quiet">
      <label>
        {text('listedAfterUse')}{' '}
        <select
          value={chosen ?? ttl}
          disabled={isBusy}
          onChange={({ currentTarget: { value } }) => void choose(Number(value))}
        >
          {[...new Set([...TTLS, ttl])]
            .sort((one, other) => one - other)
            .map((seconds) => (
              <option key={seconds} value={seconds}>
                {durationOf(seconds)}
              </option>
            ))}
        </select>
      </label>
      <Refusal error={error} />
    </p>
  );
}
