import { useCallback, useEffect, useRef, useState } from 'react';
import { useLive } from '../graph/live.ts';
import type { RefusedError } from '../graph/refused.ts';
import { useService } from '../graph/service.ts';
import { COUNTS } from './operations.ts';
import { RowCache, type Rows } from './row-cache.ts';
import type { Filter, Selection } from './selection.ts';

interface LiveRows {
  /** `null` until the first page was read. Rows of the previous selection stay until then. */
  readonly rows: Rows | null;
  readonly error: RefusedError | null;
  /** Number of matching clients that are connected; `null` if it is unknown. */
  readonly connectedCount: number | null;
  readonly isLive: boolean;
  /** Call it with the visible rows. */
  readonly show: (first: number, last: number) => void;
}

interface Counts {
  readonly connectedCount: number | null;
}

/** Changes of queues send no events, so visible rows are read again at this interval in milliseconds. */
const QUEUES_MS = 1_000;

/** The selected clients, live: events have the counts only, and make the visible rows be read again. */
export function useRows(brokerId: string, selection: Selection): LiveRows {
  const { ask } = useService();
  const [read, setRead] = useState<{ rows: Rows | null; error: RefusedError | null }>({ rows: null, error: null });
  const cache = useRef<RowCache | null>(null);
  // The first rows of another filter come before its subscription, which would make the service search twice at once.
  const [followed, setFollowed] = useState(selection.filter);
  const { filter, isExact } = subscribable(followed);
  const { state, isLive } = useLive(
    COUNTS,
    { brokerId, filter },
    ({ connectedClients }) => connectedClients,
    (_before: Counts | null, { connectedCount }): Counts => ({ connectedCount }),
  );
  const key = JSON.stringify([brokerId, selection]);
  useEffect(() => {
    const rows = new RowCache({
      ask,
      brokerId,
      selection,
      onRows: (found, error) => {
        setRead((before) => ({ rows: found ?? (error ? null : before.rows), error }));
        setFollowed(selection.filter);
      },
    });
    cache.current = rows;
    const timer = setInterval(() => document.visibilityState === 'visible' && rows.outdate(), QUEUES_MS);
    return () => {
      clearInterval(timer);
      rows.close();
    };
  }, [ask, key]);
  // Each event is a new state.
  useEffect(() => cache.current?.outdate(), [state]);
  const show = useCallback((first: number, last: number) => cache.current?.show(first, last), []);
  const isCounted = isExact && followed === selection.filter;
  return { ...read, connectedCount: isCounted ? (state?.connectedCount ?? null) : null, isLive, show };
}

/** Subscriptions have no conditions on numbers of messages. Without them, they report changes of more clients. */
function subscribable({ minQueuedMessages, minDroppedMessages, ...filter }: Filter) {
  return { filter, isExact: minQueuedMessages == null && minDroppedMessages == null };
}
