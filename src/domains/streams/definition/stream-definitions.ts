import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';

export interface KeptDefinition {
  /** `str_…`; of this stream alone, also when another one gets its name later. */
  readonly id: string;
  readonly definition: StreamDefinition;
}

/**
 * The streams of one broker as they are kept in a database. Held in memory; changes are on disk when they resolve, one
 * after the other. Names differ.
 */
export interface StreamDefinitions {
  /** In the order of their creation. */
  all(): readonly KeptDefinition[];
  byName(name: string): KeptDefinition | null;
  /** A new one, or in place of that with its id. */
  save(kept: KeptDefinition): Promise<void>;
  remove(id: string): Promise<void>;
  /** Another process wrote; what changed is found by looking. Never for own writes. */
  onChange(listener: () => void): Stop;
}
