import type { Logger } from 'pino';
import { ProblemWatch } from '../domains/problems/problem-watch.ts';
import { bridgeSource } from '../domains/problems/sources/bridge-source.ts';
import { capabilitySource } from '../domains/problems/sources/capability-source.ts';
import { floodSource, listSource } from '../domains/problems/sources/client-source.ts';
import { cloudSource } from '../domains/problems/sources/cloud-source.ts';
import { clusterSource } from '../domains/problems/sources/cluster-source.ts';
import { certificateSource, tokenSource } from '../domains/problems/sources/expiry-sources.ts';
import { linkSource } from '../domains/problems/sources/link-source.ts';
import { databaseSource, ownSource, processesSource } from '../domains/problems/sources/process-sources.ts';
import { refusalSource } from '../domains/problems/sources/refusal-source.ts';
import { streamSource } from '../domains/problems/sources/stream-source.ts';
import { sysSource } from '../domains/problems/sources/sys-source.ts';
import { whileConnected } from '../domains/problems/sources/while-connected.ts';
import { deleteOldProblems } from '../domains/problems/storage/problem-retention.ts';
import type { Config } from '../platform/config/config.ts';
import type { Parts } from './parts.ts';
import type { Readiness } from './readiness.ts';

interface WatchOptions {
  readonly config: Config;
  readonly readiness: Readiness;
  readonly log: Logger;
}

/** What finds the problems of all parts of the service. Nothing is read before `start`. */
export function openProblemWatch(
  { services, caches, storage, processes, streams, bridges }: Parts,
  { config, readiness, log }: WatchOptions,
): ProblemWatch {
  const { runtimes, problems, cloudBrokers, refusals, audit, clusters } = services;
  const { brokers, projects, certificates } = caches;
  const { db, changes, leases, speed } = storage;
  const isConnected = (id: string) => runtimes.isConnected(id);
  const lease = leases.want('problems', () => undefined);
  const others = processesSource({
    list: () => services.processes.list(),
    isCalm: () => processes.table?.isCalm ?? true,
  });
  const watch = new ProblemWatch({
    sources: {
      brokers: [
        linkSource({ runtimes, onChange: (id) => watch.checkSoon(id) }),
        cloudSource({ stateOf: (broker) => cloudBrokers.stateOf(broker) }),
        bridgeSource({
          bridges: bridges.service,
          runs: (id) => bridges.runs(id),
          isPending: (id) => bridges.isPending(id),
          isConnected,
          brokers,
        }),
        clusterSource({ clusters, cache: caches.clusters, brokers }),
        ...[
          capabilitySource({ runtimes }),
          streamSource({
            streams: streams.service,
            runs: (id) => streams.runs(id) || (brokers.get(id)?.engine === 'embedded' && isConnected(id)),
            isPending: (id) => streams.isPending(id),
            brokers,
          }),
          refusalSource({ refusals, runtimes }),
          sysSource({ runtimes }),
          floodSource({ runtimes, brokers }),
          listSource({ runtimes, brokers }),
        ].map((source) => whileConnected(isConnected, source)),
      ],
      projects: [certificateSource({ certificates }), tokenSource({ db, changes, isWanted: () => lease.held })],
      process: [
        databaseSource({ speed, ping: () => db.$queryRaw`SELECT 1` }),
        ownSource({
          disk: readiness,
          minFreeMb: config.minFreeMb,
          audit: audit.backlog,
          isFull: () => runtimes.isFull,
          maxLinks: config.maxBrokerLinks,
        }),
      ],
      service: [others],
    },
    brokers,
    projects,
    cache: problems.cache,
    store: problems.store,
    isMine: (brokerId) => processes.placement.isMine(brokerId),
    lease,
    self: processes.self,
    alive: others.alive,
    tidy: () => deleteOldProblems({ db, changes, days: config.problemRetentionDays }, new Date()),
    log,
  });
  return watch;
}
