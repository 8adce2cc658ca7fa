import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { ProblemWatch } from '../domains/problems/problem-watch.ts';
import { linkSource } from '../domains/problems/sources/link-source.ts';
import { deleteOldProblems } from '../domains/problems/storage/problem-retention.ts';
import type { Config } from '../platform/config/config.ts';
import type { Parts } from './parts.ts';

interface WatchOptions {
  readonly config: Config;
  readonly log: Logger;
}

/** What finds the problems of all parts of the service. Nothing is read before `start`. */
export function openProblemWatch(
  { services, caches, storage, processes }: Parts,
  { config, log }: WatchOptions,
): ProblemWatch {
  const { runtimes, problems } = services;
  const { brokers, projects } = caches;
  const { db, changes, leases } = storage;
  const onChange = () => watch.checkSoon();
  const watch = new ProblemWatch({
    sources: {
      brokers: [linkSource({ runtimes, onChange })],
      projects: [],
      process: [],
      service: [],
    },
    brokers,
    projects,
    cache: problems.cache,
    store: problems.store,
    isMine: (brokerId) => processes.placement.isMine(brokerId),
    lease: leases.want('problems', onChange),
    host: hostname(),
    hosts: () => null,
    tidy: () => deleteOldProblems({ db, changes, days: config.problemRetentionDays }, new Date()),
    log,
  });
  return watch;
}
