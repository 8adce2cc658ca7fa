import type { Logger } from 'pino';
import { Outages } from '../../platform/outages.ts';
import type { Lease } from '../../platform/storage/leases/leases.ts';
import { statement } from '../../protocol/problems/problem-statements.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import type { ProjectCache } from '../projects/project-cache.ts';
import { Hysteresis } from './model/hysteresis.ts';
import { type FactScope, keyOf, type ProblemFact } from './model/problem-fact.ts';
import { CHECK_MS, type ProblemKind } from './model/problem-kinds.ts';
import type {
  BrokerSource,
  ProcessPlace,
  ProcessSource,
  ProjectSource,
  ServiceSource,
} from './model/problem-source.ts';
import { thresholdsOf } from './model/problem-thresholds.ts';
import { type Reading, SourceReader } from './source-reader.ts';
import type { ProblemCache, ProblemRecord } from './storage/problem-cache.ts';
import type { ProblemStore, ScopedTransition } from './storage/problem-store.ts';

interface ProblemSources {
  readonly brokers: readonly BrokerSource[];
  readonly projects: readonly ProjectSource[];
  readonly process: readonly ProcessSource[];
  readonly service: readonly ServiceSource[];
}

interface ProblemWatchOptions {
  readonly sources: ProblemSources;
  readonly brokers: BrokerCache;
  readonly projects: ProjectCache;
  readonly cache: ProblemCache;
  readonly store: ProblemStore;
  /** Whether this process finds the problems of a broker. */
  readonly isMine: (brokerId: string) => boolean;
  /** Its holder finds the problems of projects and of the service. */
  readonly lease: Lease;
  readonly self: ProcessPlace;
  /** All processes that are there; `null` if they are not known. */
  readonly alive: () => readonly ProcessPlace[] | null;
  /** Called about once an hour by the holder of the lease. Errors: those of the database. */
  readonly tidy: () => Promise<void>;
  readonly log: Logger;
}

type Take = (owner: string, reading: Reading, open: readonly ProblemRecord[]) => void;

const SOON_MS = 200;
/** How often it is written that facts are still there. */
const SEEN_MS = 60_000;
const TIDY_MS = 3_600_000;
/** Open problems of all projects. Further ones are not opened. */
const MAX_OPEN = 20_000;
/** Problems that a project, and the service itself, may have open although others have MAX_OPEN. */
const MIN_SHARE = 100;
const SERVICE: FactScope = { projectId: null, brokerId: null };

/**
 * Reads the facts every CHECK_MS and opens and closes problems. With several processes, each finds the problems of the
 * brokers that belong to it, and of itself; the holder of the lease finds those of projects and of the service.
 */
export class ProblemWatch {
  readonly #options: ProblemWatchOptions;
  readonly #states = new Map<string, Hysteresis>();
  readonly #reader: SourceReader;
  readonly #stops: readonly (() => void)[];
  readonly #outages: Outages;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  #soon: NodeJS.Timeout | null = null;
  /** Ids of brokers that the next check within SOON_MS reads. */
  readonly #changed = new Set<string>();
  #seenAt = performance.now();
  #tidiedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ProblemWatchOptions) {
    this.#options = options;
    this.#outages = new Outages({ what: 'writing problems', log: options.log });
    this.#reader = new SourceReader(options.log);
    const { brokers, projects, cache } = options;
    this.#stops = [
      brokers.onRemove((broker) => this.#brokerRemoved(broker)),
      projects.onRemove(({ id }) => {
        this.#states.delete(id);
        cache.projectRemoved(id);
      }),
    ];
  }

  start(): void {
    this.#timer ??= setInterval(() => this.check(), CHECK_MS).unref();
    this.check();
  }

  /** A source has learnt a fact about a broker, which is checked within SOON_MS. */
  readonly checkSoon = (brokerId: string): void => {
    if (this.#timer === null) return;
    this.#changed.add(brokerId);
    this.#soon ??= setTimeout(() => {
      this.#soon = null;
      const changed = [...this.#changed].flatMap((id) => this.#options.brokers.get(id) ?? []);
      this.#changed.clear();
      this.check(changed);
    }, SOON_MS).unref();
  };

  /** Checks everything, or only some brokers: thousands of links that change one after the other must not check all. */
  check(only: readonly BrokerRecord[] | null = null): void {
    const { sources, cache, store, brokers, isMine } = this.#options;
    if (only === null) for (const source of allOf(sources)) void this.#reader.refresh(source);
    const now = performance.now();
    const transitions: ScopedTransition[] = [];
    const present = new Map<string, ProblemFact>();
    const take: Take = (owner, reading, open) => {
      for (const [key, fact] of reading.facts) present.set(key, fact);
      transitions.push(...this.#transitions(owner, reading, open, now));
    };
    for (const broker of only ?? brokers.all()) {
      if (isMine(broker.id)) take(broker.id, this.#ofBroker(broker), cache.openOfBroker(broker));
      else this.#states.delete(broker.id);
    }
    if (only === null) this.#takeOthers(take);
    store.take(transitions, new Date());
    this.#writeSoon(only === null ? present : null);
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    if (this.#soon !== null) clearTimeout(this.#soon);
    this.#timer = null;
    for (const stop of this.#stops) stop();
    const { sources, lease } = this.#options;
    for (const source of allOf(sources)) source.close?.();
    await this.#writing;
    await lease.release();
  }

  /** Of this process, of projects, and of the service. */
  #takeOthers(take: Take): void {
    const { cache, lease, projects, self, alive } = this.#options;
    const ofService = cache.openOfProject(null);
    const own = this.#keysOf([self]);
    take(
      'process',
      this.#ofProcess(),
      ofService.filter(({ key }) => own.has(key)),
    );
    if (lease.held) {
      for (const project of projects.all()) {
        const all = cache.openOfProject(project.id);
        const open = all.filter(({ brokerId }) => brokerId === null || this.#isDeleted(brokerId));
        take(project.id, this.#ofProject(project.id), open);
      }
      // Also problems of a process that is there no longer: nothing else would close them.
      const processes = alive();
      const others = processes && this.#keysOf(processes);
      take(
        'service',
        this.#ofService(),
        ofService.filter(({ kind, key }) => !this.#isOfProcesses(kind) || others?.has(key) === false),
      );
    }
  }

  #ofBroker(broker: BrokerRecord): Reading {
    const { sources, projects } = this.#options;
    const scope = { projectId: broker.projectId, brokerId: broker.id, brokerName: broker.name };
    const thresholds = thresholdsOf(projects.get(broker.projectId)?.problemThresholds ?? null);
    return this.#reader.read(scope, sources.brokers, (source) => source.of(broker, thresholds));
  }

  #ofProject(projectId: string): Reading {
    const { sources, projects } = this.#options;
    const project = projects.get(projectId);
    const scope = { projectId, brokerId: null };
    return this.#reader.read(scope, sources.projects, (source) =>
      project === null ? null : source.ofProject(project, thresholdsOf(project.problemThresholds)),
    );
  }

  #ofProcess(): Reading {
    const { sources, self } = this.#options;
    const part = self.folderId ?? '';
    return this.#reader.read(
      SERVICE,
      sources.process,
      (source) => source.ofProcess(self.host)?.map((fact) => ({ ...fact, part })) ?? null,
    );
  }

  #ofService(): Reading {
    return this.#reader.read(SERVICE, this.#options.sources.service, (source) => source.ofService());
  }

  /** The keys that problems of processes have, also those from before each process of a machine had its own. */
  #keysOf(processes: readonly ProcessPlace[]): ReadonlySet<string> {
    const kinds = this.#options.sources.process.flatMap((source) => source.kinds);
    return new Set(
      processes.flatMap(({ host, folderId }) =>
        kinds.flatMap((kind) =>
          [folderId ?? '', ''].map((part) => keyOf({ kind, subjectId: null, subjectName: host, part }, SERVICE)),
        ),
      ),
    );
  }

  #isOfProcesses(kind: ProblemKind): boolean {
    return this.#options.sources.process.some(({ kinds }) => kinds.includes(kind));
  }

  #transitions(
    owner: string,
    { scope, facts, isUnknown }: Reading,
    open: readonly ProblemRecord[],
    now: number,
  ): ScopedTransition[] {
    const known = this.#states.get(owner);
    if (known === undefined && facts.size === 0 && open.length === 0) return [];
    const state = known ?? new Hysteresis();
    state.adopt(open, now);
    const transitions = state.update(facts, isUnknown, now);
    if (state.size === 0) this.#states.delete(owner);
    else this.#states.set(owner, state);
    return transitions.flatMap((transition) => {
      const closing = transition.change === 'CLOSE' && this.#options.cache.openWithKey(transition.key);
      if (closing && this.#isDeleted(closing.brokerId)) return closingOf(closing);
      if (transition.change !== 'OPEN' || this.#hasRoom(scope)) return { ...transition, scope };
      state.forget(transition.key);
      return [];
    });
  }

  #hasRoom({ projectId }: FactScope): boolean {
    const { cache } = this.#options;
    return cache.openCount < MAX_OPEN || cache.openOfProject(projectId).length < MIN_SHARE;
  }

  #writeSoon(present: ReadonlyMap<string, ProblemFact> | null): void {
    this.#writing ??= this.#write(present).finally(() => {
      this.#writing = null;
    });
  }

  /** `present`: all present facts; `null` if only some are known. */
  async #write(present: ReadonlyMap<string, ProblemFact> | null): Promise<void> {
    const { store, log, lease, tidy } = this.#options;
    try {
      const dropped = await store.flush();
      if (dropped > 0) log.warn({ dropped }, 'changes of problems were dropped while the database was away');
      const now = performance.now();
      if (present !== null && now - this.#seenAt >= SEEN_MS) {
        this.#seenAt = now;
        await store.seen(present, new Date());
      }
      if (lease.held && now - this.#tidiedAt >= TIDY_MS) {
        this.#tidiedAt = now;
        await tidy();
      }
      this.#outages.up('problems', {});
    } catch (error) {
      this.#outages.down('problems', { err: error }, Date.now());
    }
  }

  /** If the holder of the lease misses it, the problems close as those of the project whose facts are gone. */
  #brokerRemoved(broker: BrokerRecord): void {
    const { cache, store, lease } = this.#options;
    this.#states.delete(broker.id);
    if (!lease.held) return;
    store.take(cache.openOfBroker(broker).map(closingOf), new Date());
    this.#writeSoon(null);
  }

  #isDeleted(brokerId: string | null): boolean {
    const { brokers } = this.#options;
    return brokerId !== null && brokers.get(brokerId) === null && !brokers.unreadable.includes(brokerId);
  }
}

/** That the broker of a problem was deleted closes it. */
const closingOf = ({ key, ...scope }: ProblemRecord): ScopedTransition => ({
  change: 'CLOSE',
  key,
  scope,
  before: statement('BROKER_DELETED', {}),
});

const allOf = ({ brokers, projects, process, service }: ProblemSources) => [
  ...brokers,
  ...projects,
  ...process,
  ...service,
];
