import type { BrokerCache } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { BrokerSource } from '../model/problem-source.ts';
import { RecentGrowth } from './recent-growth.ts';

const DROPPED = '$SYS/broker/publish/messages/dropped';
/** Brokers publish their numbers every 10 s. */
const WINDOW_MS = 60_000;
/** Without further ones in two publications, the broker drops no more. */
const QUIET_MS = 20_000;

/** What brokers report below `$SYS`: messages that they drop for clients whose queue is full. */
export function sysSource({
  runtimes,
  brokers,
}: {
  readonly runtimes: BrokerRuntimes;
  readonly brokers: BrokerCache;
}): BrokerSource {
  const growth = new RecentGrowth(WINDOW_MS);
  const stop = brokers.onRemove(({ id }) => growth.delete(id));
  return {
    kinds: ['QUEUES_DROPPING'],
    close: stop,
    of: ({ id, name }, { droppedPerMinute }) => {
      const count = Number(runtimes.sysTopics(id)?.receivedValueOf(DROPPED) ?? Number.NaN);
      if (Number.isSafeInteger(count)) growth.note(id, count);
      const dropped = growth.of(id);
      if (dropped < droppedPerMinute || growth.quietMs(id) > QUIET_MS) return [];
      const detail = `The broker dropped ${dropped} messages in the last minute.`;
      return [{ kind: 'QUEUES_DROPPING', subjectId: id, subjectName: name, detail }];
    },
  };
}
