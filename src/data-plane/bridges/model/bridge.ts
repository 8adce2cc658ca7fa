import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BridgeConnectionStatus } from './bridge-status.ts';

export interface Bridge<Config = unknown> {
  /** Unchanged connections continue undisturbed. Resolves before all are connected. */
  apply(config: Config): Promise<void>;
  status(): readonly BridgeConnectionStatus[];
  /** Notifies of each change of state immediately, and of changed counters at most twice a second. */
  onStatus(listener: () => void): Stop;
  /** `discard`: deletes sessions and queues. Otherwise undelivered messages are delivered after the next start. */
  close(options: { readonly discard: boolean }): Promise<void>;
}
