import { useState } from 'react';
import { exactRate, rateText } from '../broker/amounts.ts';
import { useBytes } from '../broker/units.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { payloadText, shortText } from '../messages/payload.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { ForwardPager, PAGE } from '../ui/pager.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { PAUSE_MS } from './pause.ts';
import { topicTexts } from './texts.ts';
import { FOUND, type FoundTopic, type Place } from './topic-graph.ts';
import { useRates } from './use-rates.ts';

interface Terms {
  readonly filter: string | null;
  readonly search: string | null;
}

/** With a wildcard as a whole level, the text is a topic filter, otherwise a part of the topic. */
export function termsOf(text: string): Terms {
  const isFilter = text.split('/').some((level) => level === '+' || level === '#');
  return isFilter ? { filter: text, search: null } : { filter: null, search: text };
}

interface FoundProps {
  readonly place: Place;
  readonly version: unknown;
  readonly terms: Terms;
  readonly isSelected: (topic: string) => boolean;
  readonly onSelect: (topic: string) => void;
}

/** The topics that a search found. */
export function Found({ place, version, terms, isSelected, onSelect }: FoundProps) {
  const text = useTexts(topicTexts);
  const numberText = useNumbers();
  const [afters, setAfters] = useState<readonly string[]>([]);
  const bytesText = useBytes();
  const rates = useRates(place);
  const { data, error } = useFresh(
    FOUND,
    { ...place, ...terms, first: PAGE, after: afters.at(-1) ?? null },
    version,
    PAUSE_MS,
  );
  const topics = data?.broker?.topicTree?.topics;
  if (!topics) return <Problem error={error} />;
  const columns: Column<FoundTopic>[] = [
    {
      key: 'topic',
      title: text('topic'),
      cell: ({ topic }) => (
        <button type="button" className="link" aria-pressed={isSelected(topic)} onClick={() => onSelect(topic)}>
          {topic}
        </button>
      ),
      value: ({ topic }) => topic,
    },
    {
      key: 'payload',
      title: text('lastPayload'),
      cell: (found) => (found.payloadBase64 === null ? '–' : shortText(payloadText(found, 'auto'), 40)),
    },
    {
      key: 'lastSeen',
      title: text('lastSeen'),
      cell: ({ lastSeen }) => <Time isRelative={true} at={lastSeen} />,
      value: ({ lastSeen }) => lastSeen,
    },
    { key: 'messages', title: text('uses'), cell: ({ messages }) => numberText(messages), isNumber: true },
    ...(rates === null
      ? []
      : ([
          ['messages', 'messagesPerSecond', numberText],
          ['bytes', 'bytesPerSecond', bytesText],
        ] as const)
    ).map(([of, key, format]) => ({
      key,
      title: text(key),
      isNumber: true,
      cell: ({ topic }: FoundTopic) => rateText(rates?.[of](topic) ?? null, format),
      value: ({ topic }: FoundTopic) => exactRate(rates?.[of](topic) ?? null),
    })),
  ];
  return (
    <>
      <p className="quiet" role="status">
        {text(terms.filter === null ? 'foundText' : 'foundFilter', { count: numberText(topics.totalCount) })}
      </p>
      <Refusal error={error} />
      {topics.nodes.length > 0 && (
        <Table
          name="topics"
          label={text('foundTopics')}
          columns={columns}
          rows={topics.nodes}
          keyOf={({ topic }) => topic}
        />
      )}
      {topics.nodes.length > 0 && rates !== null && <p className="quiet">{text('ratesSource')}</p>}
      <ForwardPager
        afters={afters}
        pageInfo={topics.pageInfo}
        isEmpty={topics.nodes.length === 0}
        onAfters={setAfters}
      />
    </>
  );
}
