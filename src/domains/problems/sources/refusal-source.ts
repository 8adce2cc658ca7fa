import { namedNodeId } from '../../../gateway/named-node-id.ts';
import type { Refusal } from '../../../protocol/apis/refusals/refusal.ts';
import { REFUSALS_API } from '../../../protocol/apis/refusals/refusal-control.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import { whatWouldHelp } from '../../refusals/refusal-advice.ts';
import type { RefusalList } from '../../refusals/refusal-list.ts';
import type { RefusalService } from '../../refusals/refusal-service.ts';
import type { ProblemFact } from '../model/problem-fact.ts';
import type { BrokerSource } from '../model/problem-source.ts';
import type { Thresholds } from '../model/problem-thresholds.ts';
import { RecentGrowth } from './recent-growth.ts';

interface RefusalSourceOptions {
  readonly refusals: RefusalService;
  readonly runtimes: BrokerRuntimes;
}

/** What was refused of a broker, by entry, since its list was first read over the present connection. */
interface Followed {
  readonly growth: RecentGrowth;
  entries: readonly Refusal[];
  /** The log that `entries` are of: what is not among them is new. `null`: no list was read yet. */
  log: string | null;
  /** Whether something was refused since the list was read. */
  isOutdated: boolean;
  isReading: boolean;
}

const WINDOW_MS = 10_000;
const WINDOWS_PER_MINUTE = 60_000 / WINDOW_MS;
const KINDS = ['REFUSALS_RISING', 'CLIENT_ID_CONFLICT', 'RETAINED_LIMIT'] as const;

/** Refusals of brokers. A broker is asked only after it has reported one, at most every two seconds. */
export function refusalSource({ refusals, runtimes }: RefusalSourceOptions): BrokerSource {
  const followed = new Map<string, Followed>();
  const begin = (id: string) => {
    // The list is read only after a refusal.
    const growth = new RecentGrowth(WINDOW_MS, { maxGapMs: Number.POSITIVE_INFINITY });
    followed.set(id, { growth, entries: [], log: null, isOutdated: true, isReading: false });
  };
  runtimes.onRuntime(({ id, controls, link }, change) => {
    if (change === 'CLOSING') {
      followed.delete(id);
      return;
    }
    begin(id);
    controls.onEvent(REFUSALS_API, () => {
      const one = followed.get(id);
      if (one !== undefined) one.isOutdated = true;
    });
    // What was refused while the broker was not connected may be long ago.
    link.onStatus(({ state }) => state === 'CONNECTED' && begin(id));
  });
  return {
    kinds: KINDS,
    refresh: () => {
      for (const [id, one] of followed) {
        const runtime = runtimes.find(id);
        if (runtime === null || !one.isOutdated || one.isReading || !runtimes.isConnected(id)) continue;
        void read(one, () => refusals.reported(runtime));
      }
    },
    of: (broker, thresholds) => {
      const one = followed.get(broker.id);
      return one === undefined ? null : factsOf(broker, one, thresholds);
    },
  };
}

/** Reads what the broker reports: earlier refusals of the history are old. Never rejects. */
async function read(one: Followed, reported: () => Promise<RefusalList>): Promise<void> {
  const { growth } = one;
  one.isReading = true;
  one.isOutdated = false;
  try {
    const { log, refusals: entries } = await reported();
    const areNew = log === one.log;
    growth.noteAll(
      entries.map(({ id, count }) => [id, count]),
      { areNew },
    );
    one.entries = entries;
    one.log = log;
  } catch {
    // The broker is away, or reports no refusals: the next event reads again.
  } finally {
    one.isReading = false;
  }
}

function factsOf(broker: BrokerRecord, { growth, entries }: Followed, thresholds: Thresholds): ProblemFact[] {
  const recent = entries.flatMap((refusal) => {
    const number = growth.of(refusal.id);
    return number === 0 ? [] : [{ refusal, number }];
  });
  const sum = recent.reduce((total, { number }) => total + number, 0);
  const first = recent.toSorted((one, other) => other.number - one.number)[0];
  const facts: ProblemFact[] = [];
  if (first !== undefined && sum * WINDOWS_PER_MINUTE >= thresholds.refusalsPerMinute) {
    const { kind, reason } = first.refusal;
    facts.push({
      kind: 'REFUSALS_RISING',
      subjectId: broker.id,
      subjectName: broker.name,
      detail: `The broker refused ${sum} times in the last 10 s, most often ${kind}, ${reason}${aboutClient(first.refusal)}.`,
      whatWouldHelp: whatWouldHelp(first.refusal),
    });
  }
  for (const { refusal } of recent) {
    if (refusal.kind === 'TAKEOVER') facts.push(conflict(broker, refusal));
  }
  const retained = recent.find(({ refusal }) => refusal.reason === 'TOO_MANY_RETAINED');
  if (retained !== undefined) {
    const detail = `A retained message was refused${aboutClient(retained.refusal)}.`;
    facts.push({ kind: 'RETAINED_LIMIT', subjectId: broker.id, subjectName: broker.name, detail });
  }
  return facts;
}

function conflict(broker: BrokerRecord, refusal: Refusal): ProblemFact {
  const { clientId } = refusal;
  const name = clientId ?? 'an unknown client id';
  return {
    kind: 'CLIENT_ID_CONFLICT',
    subjectId: clientId ? namedNodeId({ kind: 'connectedClient', brokerId: broker.id, name: clientId }) : broker.id,
    subjectName: name,
    detail: `Several clients connect with the client id "${name}" and disconnect each other: ${refusal.count} times.`,
    whatWouldHelp: whatWouldHelp(refusal),
  };
}

function aboutClient({ username, clientId, address }: Refusal): string {
  const parts = [
    username === null ? '' : `account "${username}"`,
    clientId === null ? '' : `client "${clientId}"`,
    address === null ? '' : `address ${address}`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}
