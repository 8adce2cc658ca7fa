import type { Stop } from '../../../protocol/mqtt/broker-session.ts';

/** The configuration of one kind of bridge beside one broker, as it is kept in a database (sealed there). Held in memory. */
export interface BridgeConfigs {
  /** Whole, with its secrets, as it was put last; null: it was never configured. Not to be changed. */
  get(): unknown;
  /** Digests of the addresses that a root administrator entered; null: not known, since it was stored before they were noted. */
  trusted(): ReadonlySet<string> | null;
  /** On disk when it resolves. Errors: NOT_FOUND where the broker is gone. */
  put(config: unknown, trusted: readonly string[]): Promise<void>;
  /** Another process wrote; what it wrote is found by `get`. Never for own writes. */
  onChange(listener: () => void): Stop;
}
