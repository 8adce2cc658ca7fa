import type { Stop } from '../../../protocol/mqtt/broker-session.ts';

/** The stored configuration of one kind of bridge for one broker, cached in memory. */
export interface BridgeConfigs {
  /** The last configuration with its secrets; `null` if it was never configured. Must not be changed. */
  get(): unknown;
  /** Digests of addresses that a root administrator entered; `null` if stored without digests. */
  trusted(): ReadonlySet<string> | null;
  /** Resolves when the configuration is on disk. Errors: NOT_FOUND if the broker does not exist. */
  put(config: unknown, trusted: readonly string[]): Promise<void>;
  /** Notifies of writes of other processes, never of own writes. `get` then returns the new configuration. */
  onChange(listener: () => void): Stop;
}
