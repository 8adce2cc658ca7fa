import { namedNodeId } from '../../../gateway/named-node-id.ts';
import type { Refusal } from '../../../protocol/apis/refusals/refusal.ts';
import { REFUSALS_API } from '../../../protocol/apis/refusals/refusal-control.ts';
import type { BrokerCache, BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import { whatWouldHelp } from '../../refusals/refusal-advice.ts';
import type { RefusalService } from '../../refusals/refusal-service.ts';
import type { ProblemFact } from '../model/problem-fact.ts';
import type { BrokerSource } from '../model/problem-source.ts';
import type { Thresholds } from '../model/problem-thresholds.ts';
import { RecentGrowth } from './recent-growth.ts';

interface RefusalSourceOptions {
  readonly refusals: RefusalService;
  readonly runtimes: BrokerRuntimes;
  readonly brokers: BrokerCache;
}

/** What was refused of a broker, by entry, since this process first read its list. */
interface Followed {
  readonly growth: RecentGrowth;
  entries: readonly Refusal[];
  /** Whether something was refused since the list was read. */
  isOutdated: boolean;
  isReading: boolean;
}

const WINDOW_MS = 10_000;
const WINDOWS_PER_MINUTE = 60_000 / WINDOW_MS;
const KINDS = ['REFUSALS_RISING', 'CLIENT_ID_CONFLICT', 'RETAINED_LIMIT'] as const;

/** Refusals of brokers. A broker is asked only after it has reported one, at most every two seconds. */
export function refusalSource({ refusals, runtimes, brokers }: RefusalSourceOptions): BrokerSource {
  const followed = new Map<string, Followed>();
  runtimes.onRuntime(({ id, controls }, change) => {
    if (change === 'CLOSING') {
      followed.delete(id);
      return;
    }
    const one = { growth: new RecentGrowth(WINDOW_MS), entries: [], isOutdated: true, isReading: false };
    followed.set(id, one);
    controls.onEvent(REFUSALS_API, () => {
      one.isOutdated = true;
    });
  });
  const read = async (broker: BrokerRecord, one: Followed) => {
    one.isReading = true;
    one.isOutdated = false;
    try {
      const { refusals: entries } = await refusals.list(broker);
      const ids = new Set(entries.map(({ id }) => id));
      one.growth.drop((id) => !ids.has(id));
      for (const { id, count } of entries) one.growth.note(id, count);
      one.entries = entries;
    } catch {
      // The broker is away, or reports no refusals: the next event reads again.
    } finally {
      one.isReading = false;
    }
  };
  return {
    kinds: KINDS,
    refresh: () => {
      for (const [id, one] of followed) {
        const broker = brokers.get(id);
        if (broker === null || !one.isOutdated || one.isReading || !runtimes.isConnected(id)) continue;
        void read(broker, one);
      }
    },
    of: (broker, thresholds) => {
      const one = followed.get(broker.id);
      return one === undefined ? [] : factsOf(broker, one, thresholds);
    },
  };
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
