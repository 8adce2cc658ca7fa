import type { Held } from '../store/incoming-store.ts';
import type { SessionAbout } from '../store/session.ts';
import type { DelayedWill } from '../store/will-store.ts';
import type { Connection } from './connection.ts';
import type { LiveMessage } from './delivery.ts';
import type { GivenSubscription } from './subscribe-away.ts';

/** What became of a client that asked to be let in. */
export interface SharedAdmission {
  /** False: there are too many sessions. */
  readonly isAdmitted: boolean;
  /** Its session ends with the connection: it wanted none, and there was none to go on with. */
  readonly isClean: boolean;
}

export interface SharedPublish extends LiveMessage {
  /** Null: the broker itself, or a client that only this node knows. */
  readonly connection: Connection | null;
  /** Null: the broker itself. */
  readonly publisherId: string | null;
  readonly messageId?: number | undefined;
  /** Who needs it before it is acknowledged. */
  readonly held: Held | null;
}

/**
 * A broker that is a node of a cluster has what concerns the other nodes, too, done by this: it is done on all nodes in the same
 * order, here as well. What a promise or a callback tells is done, and safe as the cluster's mode says. Where the node has to end
 * instead, nothing is told any more.
 */
export interface SharedChanges {
  /** Without it nobody is let in, and nothing is done until it is back. */
  readonly isReached: boolean;
  /** More waits to be done than it should: who sends waits, too. */
  readonly isCongested: boolean;
  /**
   * Takes the client id over from whatever connection has it, at any node, and makes what it wants of its session. Where that connection
   * is here, it is ended.
   */
  connect(clientId: string, connection: Connection, about: SessionAbout): Promise<SharedAdmission>;
  /** Whether other nodes know it. */
  has(connection: Connection): boolean;
  /** It is gone; `isWilled`: without saying so. */
  left(connection: Connection, now: number, isWilled: boolean): void;
  /** `done` when it was taken in by all who are to have it here; never, if its client has gone on at another node. */
  publish(publish: SharedPublish, done: () => void): void;
  /** For subscribers at other nodes that can be reached now; QoS 0. */
  tell(publisherId: string | null, live: LiveMessage): void;
  /** To those who are subscribed here, and into the queues. On all nodes, within a change that all of them make. */
  publishWill(clientId: string, will: Omit<DelayedWill, 'due'>): void;
  /** Of a session whose client is away. False: there is none any more. */
  subscribeAway(clientId: string, given: GivenSubscription): Promise<boolean>;
  unsubscribeAway(clientId: string, filter: string): Promise<void>;
  /** The time of a session, or of a delayed will, is over, if the client did not come back. */
  sessionDue(clientId: string): void;
  willDue(clientId: string): void;
}

/** Topics that every node has for itself. */
export const isOfNode = (topic: string): boolean => topic.startsWith('$SYS/') || topic.startsWith('$CONTROL/');
