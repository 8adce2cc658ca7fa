import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';

export interface StoredStream {
  /** `str_…`. Unique, also if another stream later has the same name. */
  readonly id: string;
  readonly definition: StreamDefinition;
}

/** The persisted streams of one broker, cached in memory. Writes resolve when they are on disk. */
export interface StreamDefinitions {
  all(): readonly StoredStream[];
  byName(name: string): StoredStream | null;
  save(stream: StoredStream): Promise<void>;
  remove(id: string): Promise<void>;
  /** Notifies of writes of other processes, without details of what changed. Own writes are not reported. */
  onChange(listener: () => void): Stop;
}
