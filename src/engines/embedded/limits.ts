export interface BrokerLimits {
  readonly maxConnections: number;
  readonly maxPacketBytes: number;
  /** Further persistent sessions are refused: sessions of MQTT 3 never expire. */
  readonly maxSessions: number;
  readonly maxFilters: number;
  /** Weight of the topic filters of one client, see `filterWeight`. */
  readonly maxFilterWeight: number;
  /** Weight of all topic filters. Above it, only clients with at most a thousandth of this weight may subscribe. */
  readonly maxTotalFilterWeight: number;
  /** QoS 2 publishes of one client before PUBREL: the number of packet ids. Default Receive Maximum of MQTT 5. */
  readonly maxIncoming: number;
  readonly connectTimeoutMs: number;
  readonly maxHandshakes: number;
  /** From the TCP connection to the end of the TLS handshake. */
  readonly handshakeTimeoutMs: number;
  /** Maximum time that the socket of a client may be full before the client is disconnected. */
  readonly drainTimeoutMs: number;
  /** Bytes that one client has not taken. Above it, QoS 0 messages are dropped and counted. Default: 1 MiB. */
  readonly unsentBytes: number;
  /**
   * The same for all clients; a payload counts once. Drops for clients with more than their fair share. Default: 64
   * MiB.
   */
  readonly unsentTotalBytes: number;
}

export interface QueueLimits {
  /** Messages queued for an offline client, like `max_queued_messages` of Mosquitto. Default: 1,000. */
  readonly offlineMessages: number;
  /** Messages queued for a connected client, or sent to it and not acknowledged. Default: 20,000. */
  readonly onlineMessages: number;
  /** Bytes of topics, payloads and properties of one session. Default: 32 MiB. */
  readonly sessionBytes: number;
  /**
   * The same for all sessions: each message counts once, and 256 bytes for each session that queues it. Also applies to
   * the send windows of MQTT 5 clients, and to messages that wait for sockets. Default: 256 MiB.
   */
  readonly totalBytes: number;
}

export interface StoreLimits extends QueueLimits {
  /** Default: 100,000. */
  readonly retainedMessages: number;
  /** Bytes of payload and properties. Default: 128 MiB. */
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

export const BROKER_LIMITS = { ...DEFAULT_BROKER_LIMITS, ...DEFAULT_STORE_LIMITS };
