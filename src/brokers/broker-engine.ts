import type { ListenerProtocol } from '../generated/sqlite/client.ts';

/** What brokers can be run on: as `Broker.engine` keeps it. */
export const ENGINES = ['embedded', 'mosquitto'] as const;
export type Engine = (typeof ENGINES)[number];

export const isEngine = (engine: string | null): engine is Engine => ENGINES.some((one) => one === engine);

/** Where a broker that this service runs shall listen. Port 0: any free one; a taken one: the next free one. */
export interface ListenerWanted {
  /** From 1; the same as long as the listener is there. `listener_id` in the control APIs. */
  readonly number: number;
  readonly protocol: ListenerProtocol;
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly requireCertificate: boolean;
}

/** FAILED is followed by STARTING: the engine starts what failed again, with growing pauses. */
export type RunningState = 'STARTING' | 'RUNNING' | 'FAILED' | 'STOPPED';

/** A broker that runs, whatever the engine. */
export interface RunningBroker {
  /** With the ports they got, which stay the same when it starts anew. */
  readonly listeners: readonly ListenerWanted[];
  /** Ends within some five seconds, clients connected or not. */
  close(): Promise<void>;
}
