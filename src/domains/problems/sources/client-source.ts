import { getClient, INSPECT_API, listClients } from '../../../protocol/apis/clients/inspect-control.ts';
import { listTopClients } from '../../../protocol/apis/clients/traffic-control.ts';
import { statement } from '../../../protocol/problems/problem-statements.ts';
import type { BrokerCache, BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import { clientNodeId } from '../../clients/graph/client-schema.ts';
import type { ProblemFact } from '../model/problem-fact.ts';
import { certainAfterMs, readEveryMs } from '../model/problem-kinds.ts';
import type { BrokerSource } from '../model/problem-source.ts';
import { PolledReadings } from './polled-readings.ts';
import { RecentGrowth } from './recent-growth.ts';

interface ClientSourceOptions {
  readonly runtimes: BrokerRuntimes;
  readonly brokers: BrokerCache;
}

const RECEIVED = '$SYS/broker/publish/messages/received';
/** Brokers publish their numbers every 10 s. */
const WINDOW_MS = 25_000;
/** Clients whose counters are read: those that sent most in the last minute. */
const MAX_READ = 20;
/** Of two readings, the second may be late, and before the count that arrived meanwhile. */
const MIN_READINGS = 3;

interface Incomplete {
  /** Why clients may be missing, which may be empty. `null`: the list is complete. */
  readonly error: string | null;
  /** Of the first and the last of the readings that found an incomplete list. */
  readonly since: number;
  readonly at: number;
  /** How many readings these are. */
  readonly readings: number;
}

interface Rate {
  readonly clientId: string;
  readonly perSecond: number;
}

/**
 * A client that sends very many messages. Only embedded brokers count the messages of each client: the counters of the
 * busiest ones are read while the whole broker receives more than a client may send.
 */
export function floodSource({ runtimes, brokers }: ClientSourceOptions): BrokerSource {
  const received = new RecentGrowth(WINDOW_MS);
  const before = new Map<string, { readonly at: number; readonly counts: ReadonlyMap<string, number> }>();
  const rates = new PolledReadings<readonly Rate[]>({
    everyMs: readEveryMs('CLIENT_FLOODING'),
    read: async (broker) => {
      const counts = await countsOf(broker, runtimes);
      const at = performance.now();
      const last = before.get(broker.id);
      before.set(broker.id, { at, counts });
      if (last === undefined) return [];
      return [...counts].flatMap(([clientId, count]) => {
        const known = last.counts.get(clientId);
        if (known === undefined) return [];
        return [{ clientId, perSecond: Math.round((Math.max(0, count - known) * 1_000) / (at - last.at)) }];
      });
    },
  });
  const suspected = new Set<string>();
  const stop = brokers.onRemove(({ id }) => {
    received.delete(id);
    suspected.delete(id);
  });
  return {
    kinds: ['CLIENT_FLOODING'],
    close: stop,
    refresh: async () => {
      for (const id of before.keys()) if (!suspected.has(id)) before.delete(id);
      await rates.refresh([...suspected].flatMap((id) => brokers.get(id) ?? []));
    },
    of: (broker, { clientMessagesPerSecond: most }) => {
      if (broker.engine !== 'embedded') return [];
      const count = Number(runtimes.sysTopics(broker.id)?.receivedValueOf(RECEIVED) ?? Number.NaN);
      if (Number.isSafeInteger(count)) received.note(broker.id, count);
      if ((received.of(broker.id) * 1_000) / WINDOW_MS < most / 2) {
        suspected.delete(broker.id);
        return [];
      }
      suspected.add(broker.id);
      const known = rates.of(broker.id);
      if (known === null) return null;
      return known.filter(({ perSecond }) => perSecond > most).map((rate) => flood(broker, rate));
    },
  };
}

const flood = (broker: BrokerRecord, { clientId, perSecond }: Rate): ProblemFact => ({
  kind: 'CLIENT_FLOODING',
  subjectId: clientNodeId(broker, clientId),
  subjectName: clientId,
  statements: [statement('CLIENT_FLOODS', { name: clientId, count: perSecond })],
});

/** Numbers of messages that the busiest clients have sent since they connected. Errors: those of the broker. */
async function countsOf({ id }: BrokerRecord, runtimes: BrokerRuntimes): Promise<ReadonlyMap<string, number>> {
  const controls = runtimes.find(id)?.controls;
  if (controls === undefined) return new Map();
  const { entries } = await listTopClients(controls, { by: 'MESSAGES_IN', last: 'MINUTE', count: MAX_READ });
  const details = await Promise.all(entries.map(({ name }) => getClient(controls, name).catch(() => null)));
  return new Map(
    details.flatMap((client) => (client?.numPublished === undefined ? [] : [[client.clientid, client.numPublished]])),
  );
}

/** Lists of clients that this service makes from the log of a broker. They are read in this process. */
export function listSource({ runtimes, brokers }: ClientSourceOptions): BrokerSource {
  const isFollowed = (id: string) =>
    runtimes.isConnected(id) && runtimes.find(id)?.controls.known(INSPECT_API)?.provider === 'GATEWAY';
  const errorOf = async (id: string) => {
    const controls = runtimes.find(id)?.controls;
    if (controls === undefined) return null;
    const { complete = true, incompleteReason } = await listClients(controls, { verbose: false, count: 1 });
    return complete ? null : (incompleteReason ?? '');
  };
  const readings: PolledReadings<Incomplete> = new PolledReadings({
    everyMs: readEveryMs('LIST_INCOMPLETE'),
    read: async ({ id }) => {
      const error = await errorOf(id);
      const before = readings.of(id);
      const at = performance.now();
      const first = before === null || before.error === null ? { since: at, readings: 0 } : before;
      return { error, since: first.since, at, readings: first.readings + 1 };
    },
  });
  return {
    kinds: ['LIST_INCOMPLETE'],
    refresh: () => readings.refresh(brokers.all().filter(({ id }) => isFollowed(id))),
    of: ({ id, name }) => {
      if (runtimes.find(id)?.controls.known(INSPECT_API) == null) return null;
      if (!isFollowed(id)) return [];
      const reading = readings.of(id);
      if (reading?.error === null) return [];
      // Not certain yet: a problem that is open remains.
      if (
        reading === null ||
        reading.at - reading.since < certainAfterMs('LIST_INCOMPLETE') ||
        reading.readings < MIN_READINGS
      )
        return null;
      const statements = [statement('CLIENTS_UNKNOWN', { error: reading.error })];
      return [{ kind: 'LIST_INCOMPLETE', subjectId: id, subjectName: name, statements }];
    },
  };
}
