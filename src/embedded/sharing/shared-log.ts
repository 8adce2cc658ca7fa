/**
 * What the nodes of a cluster have in common changes by entries of one log, which all of them read in the same order. A node acts on
 * an entry when it reads it, its own ones included, so that all have the same after the same entry.
 */
export interface SharedLog {
  /**
   * Resolves when the log has the entry; entries of one node keep their order. While the log cannot be reached it waits, and the entry
   * is there once in the end. Rejects when the node has to end instead.
   */
  append(entry: LogEntry): Promise<void>;
  /** Tells the other nodes that can be reached now, once at most: what nobody waits for (messages of QoS 0). */
  tell(entry: LogEntry): void;
  /** Whether the log can be reached now. Without it nobody is let in and nothing is acknowledged. */
  readonly isReached: boolean;
  /** Bytes appended and not known to be in the log yet; those who read from sockets stop when it is too much. */
  readonly pendingBytes: number;
  close(): Promise<void>;
}

/** One change. Both parts are copied before `append` returns. */
export interface LogEntry {
  readonly kind: string;
  /** What JSON can say. */
  readonly about: object;
  readonly payload?: Uint8Array | string | undefined;
}

/** Where an entry comes from. */
export interface EntryOrigin {
  readonly nodeId: number;
  /** A new one for each start of the node. */
  readonly run: string;
  readonly isOwn: boolean;
}

/** What a node does with the log. Nothing of it may throw or wait: what fails ends the node. */
export interface LogReader {
  /** Each entry once, in the order of the log. */
  apply(entry: LogEntry, origin: EntryOrigin): void;
  /** What somebody told. */
  told(entry: LogEntry, origin: EntryOrigin): void;
  /** Everything up to this position was applied; kept with what it made. Once for each batch that was read. */
  reached(position: string): void;
  /** A node that was there is not any more: in the order of the log, once for each run. The clients it had are without a connection. */
  lost(nodeId: number, run: string): void;
  /** All that the nodes have in common, as it is at this position, for a node that begins. */
  snapshot(): Iterable<LogEntry>;
}

/** How far a node had come before it ended. */
export interface LogPlace {
  /** Another one than the log's: the log was begun anew, and the node takes what the others have. */
  readonly epoch: string;
  readonly position: string;
}
