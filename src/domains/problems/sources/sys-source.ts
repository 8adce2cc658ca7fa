import { statement } from '../../../protocol/problems/problem-statements.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { BrokerSource } from '../model/problem-source.ts';
import { PublishedRate } from './published-rate.ts';

const DROPPED = '$SYS/broker/publish/messages/dropped';
/** Differs in each publication of all numbers. States of bridges are published at other times, too. */
const UPTIME = '$SYS/broker/uptime';

/** What brokers report below `$SYS`: messages that they drop for clients whose queue is full. */
export function sysSource({ runtimes }: { readonly runtimes: BrokerRuntimes }): BrokerSource {
  const rates = new Map<string, PublishedRate>();
  runtimes.onRuntime(({ id, sys }, change) => {
    if (change === 'CLOSING') {
      rates.delete(id);
      return;
    }
    const rate = new PublishedRate();
    rates.set(id, rate);
    let published: string | null = null;
    sys.onBurst(() => {
      const uptime = sys.valueOf(UPTIME);
      if (uptime !== null && uptime === published) return;
      published = uptime;
      const count = Number(sys.receivedValueOf(DROPPED) ?? Number.NaN);
      if (Number.isSafeInteger(count)) rate.note(count, performance.now());
    });
  });
  return {
    kinds: ['QUEUES_DROPPING'],
    of: ({ id, name }, { droppedPerMinute }) => {
      const dropped = rates.get(id)?.perMinute(performance.now()) ?? null;
      if (dropped === null) return null;
      if (dropped < droppedPerMinute) return [];
      const statements = [statement('MESSAGES_DROPPED', { count: dropped })];
      return [{ kind: 'QUEUES_DROPPING', subjectId: id, subjectName: name, statements }];
    },
  };
}
