/** Every bound of an embedded broker, with its default. */
export interface BrokerLimits {
  readonly maxConnections: number;
  readonly maxPacketBytes: number;
  /** Persistent sessions, connected or not. Those of MQTT 3 never expire, so further ones are refused. */
  readonly maxSessions: number;
  /** Topic filters of one client. */
  readonly maxFilters: number;
  /** Their weight, see `filterWeight`. */
  readonly maxFilterWeight: number;
  /** Of all clients and persistent sessions: above it only those may have more that have a thousandth of it at most. */
  readonly maxTotalFilterWeight: number;
  /**
   * QoS 2 publishes of one client that wait for PUBREL. MQTT 3.1.1 cannot tell a client to send fewer, and its PUBRELs come behind
   * its publishes, so the bound is the protocol's own: there are no more packet ids. It is what MQTT 5 takes for granted, too.
   */
  readonly maxIncoming: number;
  readonly connectTimeoutMs: number;
  /** Connections of one TLS listener whose handshake is not done. */
  readonly maxHandshakes: number;
  /** From the TCP connection to the end of the TLS handshake. */
  readonly handshakeTimeoutMs: number;
  /** How long a client may leave its socket full before it is disconnected. */
  readonly drainTimeoutMs: number;
  /** Bytes that one client has not taken from its socket: above it QoS 0 messages are dropped and counted; 1 MiB. */
  readonly unsentBytes: number;
  /**
   * Bytes of live messages that sockets have not taken, over all clients, each payload once: above it a client that has more than
   * its fair share unsent loses QoS 0; 64 MiB.
   */
  readonly unsentTotalBytes: number;
}

export interface QueueLimits {
  /** Messages queued for a client that is away (Mosquitto's max_queued_messages); 1,000. */
  readonly offlineMessages: number;
  /** Messages sent to a connected client and not acknowledged yet; 20,000. */
  readonly onlineMessages: number;
  /** Bytes of topics, payloads and properties of one session; 32 MiB. */
  readonly sessionBytes: number;
  /**
   * Bytes of topics, payloads and properties of all sessions, each message once, and 256 bytes for each session that it is queued for;
   * 256 MiB. The same bound holds for what MQTT 5 clients without a session have not taken, and for what waits for sockets.
   */
  readonly totalBytes: number;
}

export interface StoreLimits extends QueueLimits {
  /** 100,000. */
  readonly retainedMessages: number;
  /** Bytes of payload and properties; 128 MiB. */
  readonly retainedBytes: number;
}

export const DEFAULT_BROKER_LIMITS: BrokerLimits = {
  maxConnections: 20_000,
  maxPacketBytes: 10 * 1_048_576,
  maxSessions: 100_000,
  maxFilters: 10_000,
  maxFilterWeight: 100_000,
  maxTotalFilterWeight: 1_000_000,
  maxIncoming: 65_535,
  connectTimeoutMs: 10_000,
  maxHandshakes: 1_000,
  handshakeTimeoutMs: 10_000,
  drainTimeoutMs: 10_000,
  unsentBytes: 1_048_576,
  unsentTotalBytes: 64 * 1_048_576,
};

export const DEFAULT_STORE_LIMITS: StoreLimits = {
  offlineMessages: 1_000,
  onlineMessages: 20_000,
  sessionBytes: 32 * 1_048_576,
  totalBytes: 256 * 1_048_576,
  retainedMessages: 100_000,
  retainedBytes: 128 * 1_048_576,
};
