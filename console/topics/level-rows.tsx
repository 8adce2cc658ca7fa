import { ChevronDown, ChevronRight } from 'lucide-react';
import { createContext, type MouseEvent, useContext, useState } from 'react';
import { useFresh } from '../graph/use-fresh.ts';
import { payloadText, shortText } from '../messages/payload.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Refusal } from '../ui/problem.tsx';
import { PAUSE_MS } from './pause.ts';
import { topicTexts } from './texts.ts';
import { LEVELS, type Level, type Place } from './topic-graph.ts';

interface Branches {
  readonly place: Place;
  readonly version: unknown;
  readonly opened: ReadonlySet<string>;
  readonly open: (topic: string, isOpen: boolean) => void;
  readonly selected: string | null;
  readonly focused: string | null;
  readonly select: (topic: string) => void;
}

export const BranchContext = createContext<Branches | null>(null);

function useBranches(): Branches {
  const branches = useContext(BranchContext);
  if (branches === null) throw new Error('Only rows of a tree have branches');
  return branches;
}

/** Number of levels that are read at once. */
const PAGE = 100;

/** The levels directly below `of`; `null`: the first levels. */
export function LevelRows({ of, depth }: { readonly of: string | null; readonly depth: number }) {
  const text = useTexts(topicTexts);
  const numberText = useNumbers();
  const { place, version } = useBranches();
  const [first, setFirst] = useState(PAGE);
  const { data, error } = useFresh(LEVELS, { ...place, of, first }, version, PAUSE_MS);
  const levels = data?.broker?.topicTree?.children;
  if (!levels) return error ? <Refusal error={error} /> : <li role="none">{text('loading')}</li>;
  return (
    <>
      {levels.nodes.map((level, index) => (
        <LevelRow
          key={level.topic}
          level={level}
          depth={depth}
          isFirst={of === null && index === 0}
          position={index + 1}
          count={levels.totalCount}
        />
      ))}
      {levels.totalCount > levels.nodes.length && (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys
        <li
          role="treeitem"
          aria-level={depth}
          tabIndex={-1}
          className="more"
          style={{ paddingInlineStart: `${depth}rem` }}
          onClick={() => setFirst(first + PAGE)}
        >
          {text('moreLevels', { count: numberText(levels.totalCount - levels.nodes.length) })}
        </li>
      )}
    </>
  );
}

interface LevelRowProps {
  readonly level: Level;
  readonly depth: number;
  readonly isFirst: boolean;
  readonly position: number;
  readonly count: number;
}

function LevelRow({ level, depth, isFirst, position, count }: LevelRowProps) {
  const text = useTexts(topicTexts);
  const numberText = useNumbers();
  const { opened, open, selected, focused, select } = useBranches();
  const { name, topic, childCount, topicCount, recorded } = level;
  const isOpen = opened.has(topic);
  const isReachable = focused === null ? isFirst : focused === topic;
  const hasPayload = recorded !== null && recorded.payloadBase64 !== null;
  const click = () => {
    select(topic);
    if (childCount > 0) open(topic, true);
  };
  const toggle = (event: MouseEvent) => {
    event.stopPropagation();
    open(topic, !isOpen);
  };
  return (
    <>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys */}
      <li
        role="treeitem"
        aria-level={depth}
        aria-posinset={position}
        aria-setsize={count}
        aria-expanded={childCount > 0 ? isOpen : undefined}
        aria-selected={topic === selected}
        tabIndex={isReachable ? 0 : -1}
        data-topic={topic}
        data-name={name}
        style={{ paddingInlineStart: `${depth - 1}rem` }}
        onClick={click}
      >
        <span className="marker" aria-hidden="true" onClick={toggle}>
          {childCount > 0 && (isOpen ? <ChevronDown /> : <ChevronRight />)}
        </span>
        <span className={name === '' ? 'quiet' : undefined}>{name === '' ? text('emptyLevel') : name}</span>
        {childCount > 0 && (
          <span className="quiet" title={text('inside', { count: numberText(topicCount) })}>
            {numberText(topicCount)}
          </span>
        )}
        {hasPayload && <span className="quiet payload">{shortText(payloadText(recorded, 'auto'), 40)}</span>}
      </li>
      {isOpen && childCount > 0 && <LevelRows of={topic} depth={depth + 1} />}
    </>
  );
}
