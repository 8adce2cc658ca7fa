import { History } from 'lucide-react';
import { useTexts, useTimes } from '../texts/texts.ts';
import { Empty } from '../ui/empty.tsx';
import { isFiltered } from './event-filter.ts';
import type { EventPage } from './event-graph.ts';
import { eventTexts } from './texts.ts';

interface NoEventsProps {
  readonly page: EventPage;
  readonly values: URLSearchParams;
  /** Whether the events are those of one client. */
  readonly isOfClient: boolean;
}

/** Why a page has no events. */
export function NoEvents({ page: { since, pageInfo }, values, isOfClient }: NoEventsProps) {
  const text = useTexts(eventTexts);
  const timeOf = useTimes();
  if (pageInfo.hasNextPage) return <p role="status">{text('searchGoesOn')}</p>;
  const from = values.get('from');
  const isOlder = since !== null && from !== null && Date.parse(from) < Date.parse(since);
  if (!isFiltered(values) && !isOfClient) {
    return (
      <Empty icon={History} title={text('noEvents')}>
        <p>{text('noEventsText')}</p>
      </Empty>
    );
  }
  return (
    <p role="status">
      {text(isFiltered(values) ? 'noMatch' : 'noEventsOfClient')}
      {isOlder && ` ${text('beforeRecord', { time: timeOf(since) })}`}
    </p>
  );
}
