/** Limits of one embedded broker. Sizes are in bytes. */
export const BROKER_LIMITS = {
  maxConnections: 20_000,
  maxPacketBytes: 10 * 1_048_576,
  /** Further persistent sessions are refused: sessions of MQTT 3 never expire. */
  maxSessions: 100_000,
  maxFilters: 10_000,
  /** Weight of the topic filters of one client, see `filterWeight`. */
  maxFilterWeight: 100_000,
  /** Weight of all topic filters. Above it, only clients with at most a thousandth of this weight may subscribe. */
  maxTotalFilterWeight: 1_000_000,
  /**
   * Different shared subscriptions, because one message may go to a member of each. Above a half, only clients with
   * less than a hundredth of this number of subscriptions may add one.
   */
  maxSharedGroups: 10_000,
  /** QoS 2 publishes of one client before PUBREL: the number of packet ids. Default Receive Maximum of MQTT 5. */
  maxIncoming: 65_535,
  connectTimeoutMs: 10_000,
  maxHandshakes: 1_000,
  /** From the TCP connection to the end of the TLS handshake. */
  handshakeTimeoutMs: 10_000,
  /** Maximum time that the socket of a client may be full before the client is disconnected. */
  drainTimeoutMs: 10_000,
  /** Bytes that one client has not taken. Above it, QoS 0 messages are dropped and counted. */
  unsentBytes: 1_048_576,
  /** The same for all clients; a payload counts once. Drops for clients with more than their fair share. */
  unsentTotalBytes: 64 * 1_048_576,
  /** Large retained messages that were read from disk and not taken by sockets, plus one. Each counts once. */
  unsentRetainedBytes: 32 * 1_048_576,
  /** Messages queued for an offline client, like `max_queued_messages` of Mosquitto. */
  offlineMessages: 1_000,
  /** Messages queued for a connected client, or sent to it and not acknowledged. */
  onlineMessages: 20_000,
  /** Topics, payloads and properties of one session. */
  sessionBytes: 32 * 1_048_576,
  /**
   * The same for all sessions: each message counts once, and 256 bytes for each session that queues it. Also applies to
   * the send windows of MQTT 5 clients, and to messages that wait for sockets.
   */
  totalBytes: 256 * 1_048_576,
  /** On disk. Further messages are refused. */
  retainedMessages: 2_000_000,
  /** Topics, payloads and properties of retained messages on disk. */
  retainedBytes: 2_048 * 1_048_576,
};

export type BrokerLimits = Readonly<typeof BROKER_LIMITS>;

/** Limits of access control. Objects beyond a limit are refused; existing ones stay. */
export const ACCESS_LIMITS = {
  clients: 100_000,
  groups: 20_000,
  roles: 20_000,
  acls: 10_000,
  /** Roles or groups of one client, roles of one group. */
  memberships: 1_000,
  /** Characters of all stored names, texts and topics, and a constant for each membership and rule. */
  size: 100_000_000,
};

export type AccessLimits = Readonly<typeof ACCESS_LIMITS>;
