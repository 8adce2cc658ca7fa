import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BridgeConnectionStatus } from './bridge-status.ts';

/** One kind of bridge beside one broker, running: `Config` is what the kind's schema describes, already checked. */
export interface Bridge<Config = unknown> {
  /** A complete configuration. Connections that it leaves as they are go on undisturbed; resolves when it is taken, not when all are connected. */
  apply(config: Config): Promise<void>;
  /** One for each connection, in the order of the configuration. */
  status(): readonly BridgeConnectionStatus[];
  /** Each change of a state at once; counts alone at most twice a second. */
  onStatus(listener: () => void): Stop;
  /** `discard`: deletes sessions and queues. Otherwise undelivered messages are delivered after the next start. */
  close(options: { readonly discard: boolean }): Promise<void>;
}
