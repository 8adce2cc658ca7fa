import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { BranchContext, LevelRows } from './level-rows.tsx';
import { topicTexts } from './texts.ts';
import type { Place } from './topic-graph.ts';

interface TopicTreeProps {
  readonly place: Place;
  readonly version: unknown;
  readonly topic: string | null;
  readonly onSelect: (topic: string) => void;
}

/** The topics by levels. A level is read when its parent is opened. The keys are those of the ARIA tree pattern. */
export function TopicTree({ place, version, topic, onSelect }: TopicTreeProps) {
  const text = useTexts(topicTexts);
  const tree = useRef<HTMLUListElement>(null);
  const [opened, setOpened] = useState(() => parentsOf(topic));
  /** The topic that Tab reaches. `null`: the first one. */
  const [focused, setFocused] = useState(topic);
  const open = (value: string, isOpen: boolean) =>
    setOpened((before) => {
      const next = new Set(before);
      if (isOpen) next.add(value);
      else next.delete(value);
      return next;
    });
  const focus = (item: HTMLElement | null | undefined) => {
    if (!item) return;
    if (item.dataset.topic !== undefined) setFocused(item.dataset.topic);
    item.focus();
  };
  const select = (value: string) => {
    setFocused(value);
    onSelect(value);
  };
  // Tab always reaches one item, also if the last focused one has expired.
  useEffect(() => {
    if (focused !== null && !tree.current?.querySelector('[role=treeitem][tabindex="0"]')) setFocused(null);
  });
  const press = (event: KeyboardEvent<HTMLUListElement>) => {
    const items = [...(tree.current?.querySelectorAll<HTMLElement>('[role=treeitem]') ?? [])];
    const item = (event.target as HTMLElement).closest<HTMLElement>('[role=treeitem]');
    if (!item || event.ctrlKey || event.altKey || event.metaKey) return;
    /** `undefined` for the row that reads further levels. */
    const value = item.dataset.topic;
    const run = () => (value === undefined ? item.click() : select(value));
    const at = items.indexOf(item);
    const canOpen = item.getAttribute('aria-expanded');
    const letter = event.key.length === 1 && event.key !== ' ' ? event.key.toLowerCase() : null;
    const named = (other: HTMLElement) => other.dataset.name?.toLowerCase().startsWith(letter ?? '') === true;
    const actions: Record<string, () => void> = {
      ArrowDown: () => focus(items[at + 1]),
      ArrowUp: () => focus(items[at - 1]),
      Home: () => focus(items[0]),
      End: () => focus(items.at(-1)),
      ArrowRight: () => (canOpen === 'true' ? focus(items[at + 1]) : canOpen && open(value ?? '', true)),
      ArrowLeft: () =>
        canOpen === 'true'
          ? open(value ?? '', false)
          : focus(items.slice(0, at).findLast((other) => levelOf(other) < levelOf(item))),
      Enter: run,
      ' ': run,
    };
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined;
    if (action === undefined && letter === null) return;
    event.preventDefault();
    if (action) action();
    else focus(items.slice(at + 1).find(named) ?? items.find(named));
  };
  return (
    <BranchContext.Provider value={{ place, version, opened, open, selected: topic, focused, select }}>
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the ARIA pattern of a tree */}
      <ul ref={tree} role="tree" aria-label={text('topicTree')} className="tree" onKeyDown={press}>
        <LevelRows of={null} depth={1} />
      </ul>
    </BranchContext.Provider>
  );
}

const levelOf = (item: HTMLElement): number => Number(item.getAttribute('aria-level'));

/** The levels above a topic. */
function parentsOf(topic: string | null): ReadonlySet<string> {
  const levels = topic?.split('/') ?? [];
  return new Set(levels.slice(0, -1).map((_name, index) => levels.slice(0, index + 1).join('/')));
}
