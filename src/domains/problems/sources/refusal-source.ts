import { namedNodeId } from '../../../gateway/named-node-id.ts';
import type { Refusal } from '../../../protocol/apis/refusals/refusal.ts';
import { REFUSALS_API } from '../../../protocol/apis/refusals/refusal-control.ts';
import { type Statement, statement } from '../../../protocol/problems/problem-statements.ts';
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
      statements: [
        statement('ATTEMPTS_DENIED', { times: sum, action: kind, reason }, adviceParameters(first.refusal)),
        ...aboutClient(first.refusal),
      ],
      whatWouldHelp: whatWouldHelp(first.refusal),
    });
  }
  for (const { refusal } of recent) {
    if (refusal.kind === 'TAKEOVER') facts.push(conflict(broker, refusal));
  }
  const retained = recent.find(({ refusal }) => refusal.reason === 'TOO_MANY_RETAINED');
  if (retained !== undefined) {
    const statements = [statement('RETAINED_DENIED', {}), ...aboutClient(retained.refusal)];
    facts.push({ kind: 'RETAINED_LIMIT', subjectId: broker.id, subjectName: broker.name, statements });
  }
  return facts;
}

function conflict(broker: BrokerRecord, refusal: Refusal): ProblemFact {
  const { clientId } = refusal;
  const name = clientId ?? '?';
  return {
    kind: 'CLIENT_ID_CONFLICT',
    subjectId: clientId ? namedNodeId({ kind: 'connectedClient', brokerId: broker.id, name: clientId }) : broker.id,
    subjectName: name,
    statements: [statement('CLIENT_ID_SHARED', { name, times: refusal.count }, adviceParameters(refusal))],
    whatWouldHelp: whatWouldHelp(refusal),
  };
}

const aboutClient = ({ username, clientId, address }: Refusal): Statement[] => [
  ...(username === null ? [] : [statement('ACCOUNT', { name: username })]),
  ...(clientId === null ? [] : [statement('CLIENT', { name: clientId })]),
  ...(address === null ? [] : [statement('ADDRESS', { name: address })]),
];

/** What the remedy of a refusal depends on. */
const adviceParameters = ({ reason, username, clientId, address, takenOverBy, denial }: Refusal) => ({
  ...{ reason, username, clientId, address },
  ...{ otherAddress: takenOverBy?.address, otherUsername: takenOverBy?.username },
  ...{ decision: denial?.decision, roleName: denial?.decidedBy?.rolename, groupName: denial?.decidedBy?.group },
  ...{ ruleTopic: denial?.decidedBy?.rule?.topic, rulePriority: denial?.decidedBy?.rule?.priority },
});
