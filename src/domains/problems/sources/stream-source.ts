import type { StreamEntry } from '../../../data-plane/streams/control/stream-wire.ts';
import { errorStatements, type Statement, statement } from '../../../protocol/problems/problem-statements.ts';
import type { BrokerCache, BrokerRecord } from '../../brokers/broker-cache.ts';
import type { StreamService } from '../../streams/stream-service.ts';
import { streamNodeId } from '../../streams/stream-view.ts';
import type { ProblemFact } from '../model/problem-fact.ts';
import { type ProblemKind, readEveryMs } from '../model/problem-kinds.ts';
import type { BrokerSource } from '../model/problem-source.ts';
import type { Thresholds } from '../model/problem-thresholds.ts';
import { FailureRun } from './failure-run.ts';
import { PolledReadings } from './polled-readings.ts';
import { RecentGrowth } from './recent-growth.ts';

interface StreamSourceOptions {
  readonly streams: StreamService;
  /** Whether the broker has streams that this process runs, or runs its streams in its own thread. */
  readonly runs: (brokerId: string) => boolean;
  /** Whether streams of the broker will run in this process, but do not yet. */
  readonly isPending: (brokerId: string) => boolean;
  readonly brokers: BrokerCache;
}

/** At least. */
const WINDOW_MS = 10_000;
/** Fewer failed messages within the window are no problem. */
const LEAST_FAILED = 3;

/** Streams that this process runs, by their reports. */
export function streamSource({ streams, runs, isPending, brokers }: StreamSourceOptions): BrokerSource {
  const growths = new Map<string, RecentGrowth>();
  const runsOf = new Map<string, ReadonlyMap<string, FailureRun>>();
  const readings = new PolledReadings<readonly StreamEntry[]>({
    everyMs: readEveryMs('STREAM_FAILING'),
    read: async (broker) => {
      const growth = growths.get(broker.id) ?? new RecentGrowth(() => readings.windowMs(WINDOW_MS));
      growths.set(broker.id, growth);
      const entries = await streams.reports(broker);
      growth.noteAll(
        entries.flatMap(({ definition: { name }, report }) =>
          report === null ? [] : COUNTERS.map((counter) => [keyOf(name, counter), report.counters[counter]] as const),
        ),
      );
      const known = runsOf.get(broker.id);
      const runs = entries.map(({ definition: { name }, report }) => {
        const run = known?.get(name) ?? new FailureRun();
        if (report !== null) run.note(report.counters, performance.now());
        return [name, run] as const;
      });
      runsOf.set(broker.id, new Map(runs));
      return entries;
    },
  });
  const stop = brokers.onRemove(({ id }) => {
    growths.delete(id);
    runsOf.delete(id);
  });
  return {
    kinds: ['STREAM_FAILING', 'STREAM_NOT_STORING'],
    close: stop,
    refresh: () => readings.refresh(brokers.all().filter(({ id }) => runs(id))),
    of: (broker, thresholds) => {
      if (!runs(broker.id)) return isPending(broker.id) ? null : [];
      return (
        readings.of(broker.id)?.flatMap((entry) => {
          const { name } = entry.definition;
          const grown = (counter: Counter) => growths.get(broker.id)?.of(keyOf(name, counter)) ?? 0;
          return factsOf(broker, entry, thresholds, {
            received: grown('received'),
            failed: grown('failed'),
            notStored: grown('notStored'),
            allFail: runsOf.get(broker.id)?.get(name)?.lasts(performance.now()) === true,
          });
        }) ?? null
      );
    },
  };
}

const COUNTERS = ['received', 'failed', 'notStored'] as const;
type Counter = (typeof COUNTERS)[number];
type Grown = Readonly<Record<Counter, number>> & { readonly allFail: boolean };

const keyOf = (stream: string, counter: Counter): string => `${counter} ${stream}`;

function factsOf(
  broker: BrokerRecord,
  { definition: { name }, report }: StreamEntry,
  { streamFailedPercent }: Thresholds,
  { received, failed, notStored, allFail }: Grown,
): ProblemFact[] {
  if (report === null) return [];
  const { state, problem, counters, storage } = report;
  const fact = (kind: ProblemKind, ...statements: readonly Statement[]): ProblemFact => ({
    kind,
    subjectId: streamNodeId(broker, name),
    subjectName: name,
    statements,
  });
  const { lastError } = counters;
  const reason = lastError === null ? [] : [statement('LAST_REASON', { error: lastError.reason })];
  const percent = Math.min(100, Math.round((failed * 100) / Math.max(1, received)));
  const facts: ProblemFact[] = [];
  if (state === 'FAILED' || state === 'REFUSED') {
    facts.push(fact('STREAM_FAILING', statement(`STREAM_${state}`, { name }), ...errorStatements(problem)));
  } else if (failed >= LEAST_FAILED && percent >= streamFailedPercent) {
    facts.push(fact('STREAM_FAILING', statement('STREAM_FAILS', { percent, name }), ...reason));
  } else if (allFail) {
    facts.push(fact('STREAM_FAILING', statement('STREAM_FAILS_ALWAYS', { name }), ...reason));
  }
  if (storage.state === 'FULL' || storage.state === 'FAILED' || notStored > 0) {
    const why = storage.problem === null ? reason : errorStatements(storage.problem);
    facts.push(fact('STREAM_NOT_STORING', statement('STREAM_NOT_STORING', { name }), ...why));
  }
  return facts;
}
