/**
 * What the nodes of a cluster have in common changes by entries of one log, which all of them read in the same order. A node acts on
 * an entry when it reads it, its own ones included, so that all have the same after the same entry.
 */
export interface SharedLog {
  /**
   * Resolves when this node has read the entry back and applied it (after `reached`); entries of one node keep their order. While the
   * log cannot be reached it waits, and the entry is there once in the end. Rejects when the node has to end instead: the entry may or
   * may not be in the log then.
   */
  append(entry: LogEntry): Promise<void>;
  /** Tells the other nodes that can be reached now, once at most: what nobody waits for (messages of QoS 0). */
  tell(entry: LogEntry): void;
  /** Whether the log can be reached now. Without it nobody is let in and nothing is acknowledged. */
  readonly isReached: boolean;
  /** Why it cannot be reached, a sentence without secrets; null: it can be. */
  readonly problem: string | null;
  /** Bytes appended and not applied yet; those who read from sockets stop when it is too much. */
  readonly pendingBytes: number;
  /** How far this node has come. */
  readonly place: LogPlace;
  /** Batches in the log that this node has not applied yet, as of its last heartbeat. */
  readonly behind: number;
  /** This node among them; those that are gone are told for ten minutes. As of the last heartbeat. */
  readonly nodes: readonly NodePresence[];
  /** Waits a little for what is pending, and leaves: the others read that this node is lost. Nothing is applied afterwards. */
  close(): Promise<void>;
}

/**
 * One change. Neither part may be changed after `append`: a node's own entry comes back to its own `apply` as the same object, so it
 * may carry more than what the others get.
 */
export interface LogEntry {
  /** 255 bytes at most. */
  readonly kind: string;
  /** What JSON can say. */
  readonly about: object;
  readonly payload?: Uint8Array | string | undefined;
}

/** Where an entry comes from; the same object for all that a run appends. */
export interface EntryOrigin {
  readonly nodeId: number;
  /** A new one for each start of the node. */
  readonly run: string;
  /** Appended by this run of this node. */
  readonly isOwn: boolean;
}

/** What a node does with the log. Nothing of it may throw or wait: what fails ends the node. */
export interface LogReader {
  /** Each entry once, in the order of the log. */
  apply(entry: LogEntry, origin: EntryOrigin): void;
  /** What somebody told. */
  told(entry: LogEntry, origin: EntryOrigin): void;
  /** Everything up to this place was applied; kept with what it made. Once for each batch that was read, and when the log starts. */
  reached(place: LogPlace): void;
  /**
   * A node that was there is not any more: in the order of the log, once for each run. The clients it had are without a connection since
   * `at` (epoch milliseconds, the same for all readers). `isHeir`: what follows from it comes from this node, as of exactly one of those
   * that are left; where none is, of the next one that comes.
   */
  lost(nodeId: number, run: string, at: number, isHeir: boolean): void;
  /**
   * All that the nodes have in common, as it is at this position, for a node that begins. It is taken piece by piece over some turns
   * of the event loop, in which nothing is applied.
   */
  snapshot(): Iterable<LogEntry>;
}

/** How far a node had come before it ended: plain data, kept as JSON with what was applied. */
export interface LogPlace {
  /** Another one than the log's: the log was begun anew, and the node may have to take what the others have. */
  readonly epoch: string;
  /** `<generation>-<number>`: both only grow. */
  readonly position: string;
  /** The runs that are part of the log here, in no order. */
  readonly members: readonly LogMember[];
}

export interface LogMember {
  readonly nodeId: number;
  readonly run: string;
  /** Of its last batch. */
  readonly number: number;
}

export interface NodePresence {
  readonly nodeId: number;
  readonly isAlive: boolean;
}
