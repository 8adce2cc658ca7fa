import {
  CLIENT_EVENTS,
  type ClientEventQueries,
} from '../../../data-plane/history/client-events/client-events-module.ts';
import type { EventArrival } from '../../../data-plane/history/client-events/stored-events.ts';
import type { HistoryThread } from '../../../data-plane/history/hosting/history-thread.ts';
import type { Sealer } from '../../../platform/storage/encryption/sealed.ts';
import { MAX_REFUSALS, type Refusal } from '../../../protocol/apis/refusals/refusal.ts';
import type { EventHistory } from './event-writer.ts';
import { withOpenedName } from './unknown-names.ts';

export const eventHistoryOf = (history: HistoryThread): EventHistory =>
  history.module<EventArrival, ClientEventQueries>(CLIENT_EVENTS);

/** The stored refusals of a broker, without those of one log. Empty if the history cannot be read. */
export const earlierRefusalsOf =
  (history: EventHistory, sealer: Pick<Sealer, 'open'>, onFault: (error: unknown) => void) =>
  async (broker: string, log: string): Promise<readonly Refusal[]> => {
    try {
      const stored = await history.query('refusals', { broker, exceptLog: `${log}.`, count: MAX_REFUSALS });
      return stored.map((refusal) => withOpenedName(refusal, broker, sealer));
    } catch (error) {
      onFault(error);
      return [];
    }
  };
