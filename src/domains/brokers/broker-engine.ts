import type { ListenerProtocol } from '../../generated/sqlite/client.ts';

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

const isPlain = ({ protocol, tls }: ListenerWanted): boolean => protocol === 'MQTT' && !tls;

/** Whether this service can reach it: over TCP without TLS. */
export const hasOwnWay = (listeners: readonly ListenerWanted[]): boolean => listeners.some(isPlain);

/** How this machine reaches a broker that listens so, as `mqtt://127.0.0.1:1883`. */
export function addressOf(listeners: readonly ListenerWanted[]): string {
  const plain = listeners.find(isPlain);
  if (plain === undefined) throw new Error('the broker has no listener for this service');
  const { host, port } = plain;
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `mqtt://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}

/** FAILED is followed by STARTING: the engine starts what failed again, with growing pauses. */
export type RunningState = 'STARTING' | 'RUNNING' | 'FAILED' | 'STOPPED';

/** A broker that runs, whatever the engine. */
export interface RunningBroker {
  /** With the ports they got, which stay the same when it starts anew. */
  readonly listeners: readonly ListenerWanted[];
  /** What it runs without, for people; `null` or missing: nothing. */
  readonly notice?: string | null;
  /** Ends within some five seconds, clients connected or not. */
  close(): Promise<void>;
}
