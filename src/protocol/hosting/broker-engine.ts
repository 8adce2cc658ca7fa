export const ENGINES = ['embedded', 'mosquitto'] as const;

export type Engine = (typeof ENGINES)[number];

export const isEngine = (engine: string | null): engine is Engine => ENGINES.some((one) => one === engine);

export interface ListenerWanted {
  /** From 1; never changes. `listener_id` in the control APIs. */
  readonly number: number;
  readonly protocol: 'MQTT' | 'WEBSOCKET';
  readonly host: string;
  /** 0: any free port, which is then stored. */
  readonly port: number;
  readonly tls: boolean;
  readonly requireCertificate: boolean;
  /** Protocol levels that clients may use, for example `4,5`. Default: all. */
  readonly protocolLevels?: string | null;
  /** Version of the PROXY protocol that each connection begins with. Default: none. */
  readonly proxyProtocol?: number | null;
}

/** Maximum number of sessions, connected or not, and of connections. Default: no maximum. */
export interface BrokerMaximums {
  readonly maxClients?: number | null | undefined;
  readonly maxConnections?: number | null | undefined;
}

/** Whether this service can connect to the listener. It sends no PROXY header, and needs the reason codes of MQTT 5. */
const isPlain = ({ protocol, tls, proxyProtocol, protocolLevels }: ListenerWanted): boolean =>
  protocol === 'MQTT' && !tls && !proxyProtocol && (protocolLevels ?? '5').includes('5');

export const hasPlainListener = (listeners: readonly ListenerWanted[]): boolean => listeners.some(isPlain);

/** The URL of the listener for this service. Default of `advertisedHost`: where this machine reaches the listener. */
export function addressOf(listeners: readonly ListenerWanted[], advertisedHost?: string): string {
  const plain = listeners.find(isPlain);
  if (plain === undefined) throw new Error('The broker has no MQTT listener without TLS for this service');
  const { host, port } = plain;
  const reached = advertisedHost ?? reachedAt(host);
  return `mqtt://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}

/** The address at which this machine reaches a listener. */
export const reachedAt = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

/** FAILED is followed by STARTING: the engine restarts a failed broker with increasing backoff. */
export type RunningState = 'STARTING' | 'RUNNING' | 'FAILED' | 'STOPPED';

export interface RunningBroker {
  /** With their actual ports, which remain the same after a restart. */
  readonly listeners: readonly ListenerWanted[];
  /** Which stored data the broker could not load, or why it cannot store, for users; `null` or absent if neither. */
  readonly notice?: string | null;
  /** Why the broker cannot store at the moment; `null` or absent if it can. */
  readonly diskFault?: string | null;
  /** Takes at most about five seconds, even with connected clients. */
  close(): Promise<void>;
}
