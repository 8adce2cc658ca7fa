import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { ProjectRecord } from '../../projects/project-cache.ts';
import type { ProblemFact } from './problem-fact.ts';
import type { ProblemKind } from './problem-kinds.ts';
import type { Thresholds } from './problem-thresholds.ts';

/** What identifies a problem of a source, open or not. */
export type ProblemSubject = Pick<ProblemFact, 'kind' | 'subjectId'>;

/** The present facts, of which some may not be known now: problems about these neither open nor close. */
interface PartlyKnown {
  readonly facts: readonly ProblemFact[];
  /** Called with problems of the kinds of the source. */
  readonly isUnknown: (subject: ProblemSubject) => boolean;
}

type AllOrNone = readonly ProblemFact[] | null;

/** All present facts; `null` if none is known now. */
export type Facts = AllOrNone | PartlyKnown;

export interface Source {
  /** A kind belongs to one source. */
  readonly kinds: readonly ProblemKind[];
  /** Called every two seconds, before facts are read, and not again until it resolves. */
  refresh?(): void | Promise<void>;
  close?(): void;
}

/** Facts about brokers. Called for each broker every two seconds, so it only reads what is known in this process. */
export interface BrokerSource extends Source {
  of(broker: BrokerRecord, thresholds: Thresholds): Facts;
}

/** Facts about other objects of a project. As `BrokerSource`. */
export interface ProjectSource extends Source {
  ofProject(project: ProjectRecord, thresholds: Thresholds): AllOrNone;
}

/** A machine may have several processes, each with a data folder of its own. */
export interface ProcessPlace {
  readonly host: string;
  /** `null`: a process of an earlier version. */
  readonly folderId: string | null;
}

/** Facts about this process, which each process finds itself, with `host` as the name of the subject. */
export interface ProcessSource extends Source {
  ofProcess(host: string): AllOrNone;
}

/** Facts about the service, which one of its processes finds. */
export interface ServiceSource extends Source {
  ofService(): AllOrNone;
}

/** At most this many facts of a source about one broker or project; further ones are left out. */
export const MAX_FACTS = 100;
