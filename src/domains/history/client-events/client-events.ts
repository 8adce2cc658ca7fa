import {
  CLIENT_EVENTS,
  type ClientEventQueries,
} from '../../../data-plane/history/client-events/client-events-module.ts';
import type { EventArrival } from '../../../data-plane/history/client-events/stored-events.ts';
import type { HistoryThread } from '../../../data-plane/history/hosting/history-thread.ts';
import { MAX_REFUSALS, type Refusal } from '../../../protocol/apis/refusals/refusal.ts';
import type { EventHistory } from './event-writer.ts';

export const eventHistoryOf = (history: HistoryThread): EventHistory =>
  history.module<EventArrival, ClientEventQueries>(CLIENT_EVENTS);

/** The stored refusals of a broker, without those of one log. Empty if the history cannot be read. */
export const earlierRefusalsOf =
  (history: EventHistory, onFault: (error: unknown) => void) =>
  async (broker: string, log: string): Promise<readonly Refusal[]> => {
    try {
      return await history.query('refusals', { broker, exceptLog: `${log}.`, count: MAX_REFUSALS });
    } catch (error) {
      onFault(error);
      return [];
    }
  };
