import type { RefusedError } from '../graph/refused.ts';
import { useNumbers, useTexts, useTimes } from '../texts/texts.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { LiveMark } from '../ui/live-mark.tsx';
import { CursorPager, isFirst } from '../ui/pager.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import type { WantedEvents } from './event-filter.ts';
import { EventFilterForm } from './event-filter-form.tsx';
import type { EventPage } from './event-graph.ts';
import { rowsOf } from './event-rows.ts';
import { EventTable } from './event-table.tsx';
import { gapsOf } from './known-gaps.ts';
import { NoEvents } from './no-events.tsx';
import { eventTexts } from './texts.ts';

/** Largest number of gaps that the service lists. */
const MAX_GAPS = 100;

interface EventListProps {
  readonly label: string;
  /** Whose events they are. `PROJECT` names the broker and the client of each, `BROKER` the client. */
  readonly of: 'PROJECT' | 'BROKER' | 'CLIENT';
  /** `null`: not read yet. */
  readonly page: EventPage | null;
  readonly error: RefusedError | null;
  readonly canReadAudit: boolean;
  /** Whether new events are recorded now. */
  readonly isFollowed: boolean;
  readonly wanted: WantedEvents;
  /** The query, for "Copy as". */
  readonly document: object;
  readonly variables: object;
}

/** A page of events with their filter, which is in the address, the times without a record, and its neighbours. */
export function EventList(props: EventListProps) {
  const { label, of, page, error, canReadAudit, isFollowed, wanted, document, variables } = props;
  const text = useTexts(eventTexts);
  const timeOf = useTimes();
  const numberText = useNumbers();
  const { values, cursor, onCursor } = wanted;
  const isStale = error !== null;
  const isLive = isFollowed && !isStale;
  const rows = page === null ? [] : rowsOf(page.edges, gapsOf(page, wanted));
  return (
    <>
      <EventFilterForm hasClients={of !== 'CLIENT'} />
      {page === null && <Problem error={error} />}
      {page !== null && (
        <>
          <Refusal error={error} />
          {page.since !== null && page.incompleteReason !== null && <p className="note">{text('onlyLists')}</p>}
          {page.since === null && <p className="note">{text('neverRecorded')}</p>}
          <p className="actions">
            {page.since !== null && (
              <span className="quiet">{text('recordedSince', { time: timeOf(page.since) })}</span>
            )}
            {isFirst(cursor) && <LiveMark isLive={isLive} />}
            <CopyAs document={document} variables={variables} />
          </p>
          {page.edges.length === 0 && <NoEvents page={page} values={values} isOfClient={of === 'CLIENT'} />}
          {rows.length > 0 && (
            <EventTable label={label} rows={rows} of={of} canReadAudit={canReadAudit} isStale={isStale} />
          )}
          {page.gaps.length >= MAX_GAPS && <p className="quiet">{text('manyGaps', { count: numberText(MAX_GAPS) })}</p>}
          <CursorPager
            cursor={cursor}
            pageInfo={page.pageInfo}
            onCursor={(next) => onCursor(next, page.edges.at(next.before === undefined ? -1 : 0)?.node.at)}
          />
        </>
      )}
    </>
  );
}
