import type { GivenSubscription } from '../core/subscribe-away.ts';
import type { SessionAbout, SubscriptionRecord, Traffic } from '../store/session.ts';
import type { LogEntry } from './shared-log.ts';

/**
 * What nodes do with what they have in common, by kind. `id` is a client id. `number` is that of one connection of the node that appended
 * the entry: where the client has another one by then, the entry is about nothing any more. Times (`at`) are epoch milliseconds, of the
 * clock of that node. Properties of messages are texts as in the journal.
 */
export interface NodeEntries {
  /** A node begins; connections of its earlier runs are gone. */
  began: { readonly at: number };
  connect: {
    readonly id: string;
    readonly number: number;
    readonly isCleanStart: boolean;
    /** The session is to end with the connection. */
    readonly isClean: boolean;
    readonly expirySeconds: number | null;
    readonly about: SessionAbout;
    /** Its payload is the entry's. */
    readonly will: AboutWill | null;
    readonly at: number;
  };
  left: {
    readonly id: string;
    readonly number: number;
    readonly expirySeconds: number | null;
    /** Its will is to be published. */
    readonly isWilled: boolean;
    readonly traffic: Traffic;
    readonly at: number;
  };
  publish: {
    /** Null: the broker itself. */
    readonly id: string | null;
    /** 0: of no connection that is known to others. */
    readonly number: number;
    readonly topic: string;
    readonly qos: 0 | 1 | 2;
    readonly retain: boolean;
    readonly properties: string | null;
    /** Of QoS 2. */
    readonly messageId: number | undefined;
    /** The session of the publisher ends with its connection. */
    readonly isClean: boolean;
    /** Somebody at its node needs it before it is acknowledged. */
    readonly isHeld: boolean;
    readonly at: number;
  };
  subscribe: {
    readonly id: string;
    readonly number: number;
    readonly filter: string;
    readonly record: SubscriptionRecord;
  };
  unsubscribe: { readonly id: string; readonly number: number; readonly filter: string };
  /** For a client that is connected nowhere. */
  subscribeAway: { readonly id: string; readonly given: GivenSubscription; readonly at: number };
  unsubscribeAway: { readonly id: string; readonly filter: string };
  /** What became of queued messages: sent under a packet id, PUBREC came, done with; in this order. */
  queues: {
    readonly sent: readonly (readonly [id: string, number: number, position: number, packetId: number])[];
    readonly released: readonly (readonly [id: string, position: number])[];
    readonly settled: readonly (readonly [id: string, position: number])[];
  };
  /** PUBREL came. */
  pubrel: { readonly id: string; readonly number: number; readonly packetId: number };
  /** Its time is over, unless the client has connected since `lastConnect`. */
  sessionDue: { readonly id: string; readonly lastConnect: number };
  willDue: { readonly id: string; readonly lastConnect: number };
}

export type NodeEntryKind = keyof NodeEntries;

export interface AboutWill {
  readonly topic: string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly properties: string | null;
  readonly delaySeconds: number;
}

/** A change of this node, which comes back to it as the same object. */
export class OwnEntry<Kind extends NodeEntryKind = NodeEntryKind> implements LogEntry {
  readonly kind: Kind;
  readonly about: NodeEntries[Kind];
  readonly payload: Uint8Array | string | undefined;
  /** Told what became of it, once that is done here and safe. */
  readonly done: ((result: unknown) => void) | null;

  constructor(
    kind: Kind,
    about: NodeEntries[Kind],
    payload?: Uint8Array | string,
    done: ((result: unknown) => void) | null = null,
  ) {
    this.kind = kind;
    this.about = about;
    this.payload = payload;
    this.done = done;
  }
}
