import { type Connection, connectedOf } from '../clients/connection.ts';
import type { CoreParts } from '../core/core-parts.ts';
import { OutgoingPublish } from '../publishing/outgoing-publish.ts';
import type { Publish } from '../store/broker-store.ts';
import { copyOf, isExpired, outgoing, withExpiry } from '../store/message-properties.ts';
import { grantOf, type Queued } from '../store/message-queues.ts';
import { type QueueEntry, Session } from '../store/session.ts';
import type { MemberRing, SharedGroup, Subscription } from '../store/subscription.ts';
import { recipientOf } from '../store/subscription-index.ts';
import type { ClientSender } from './client-sender.ts';
import type { SharedMessage } from './sent-messages.ts';
import type { SessionSender } from './session-sender.ts';

/** Maximum number of members of a group that are looked at for one message, so that other clients are not delayed. */
const MAX_LOOKS = 1_000;
/** The same for all groups of the broker, because a message may be for all of them. */
const MAX_TOTAL_LOOKS = 20_000;
/** Maximum number of messages that are given to other members before other clients are served. */
const SLICE = 200;

/**
 * Shared subscriptions (MQTT 5, 4.8.2): connected members take turns, and those with room come first. If no member is
 * connected, a message of QoS 1 or 2 is queued for a session. When a member leaves, others get what it has not
 * acknowledged, except messages of QoS 2 that it may have [MQTT-4.8.2-5].
 */
export class SharedDelivery {
  readonly #parts: CoreParts;
  readonly #sender: ClientSender;
  readonly #sessions: SessionSender;
  /** Messages that were not delivered yet when another member got them. */
  readonly #moved = new WeakMap<QueueEntry, Queued>();

  constructor(parts: CoreParts, sender: ClientSender, sessions: SessionSender) {
    this.#parts = parts;
    this.#sender = sender;
    this.#sessions = sessions;
    const { store } = parts;
    store.chooseMember = (group, message) => this.#choose(group, message, true);
    store.sessions.onEnd = (session) => this.#ended(session);
  }

  /** The next member that can get a message of this topic and QoS; `null` if there is none. */
  #choose({ online, offline }: SharedGroup, message: Addressed, maySleep: boolean): Subscription | null {
    return this.#chooseOf(online, message, maySleep) ?? (maySleep ? this.#chooseOf(offline, message, true) : null);
  }

  #chooseOf(ring: MemberRing, { topic, qos }: Addressed, maySleep: boolean): Subscription | null {
    const { members } = ring;
    const { length } = members;
    const share = Math.ceil(MAX_TOTAL_LOOKS / Math.max(1, this.#parts.store.subscriptions.groupCount));
    const looks = Math.min(length, MAX_LOOKS, share);
    let second = -1;
    for (let step = 0; step < looks; step += 1) {
      const at = (ring.next + step) % length;
      const member = members[at];
      const place = member ? this.#placeOf(member, topic, qos) : 'NONE';
      if (place === 'ROOM') return take(ring, at);
      if (place === 'FULL' && (second === -1 || !isConnected(members[second]))) second = at;
      if (place === 'ASLEEP' && maySleep && second === -1) second = at;
    }
    if (second !== -1) return take(ring, second);
    // The next message looks at others.
    if (length > 0) ring.next = (ring.next + looks) % length;
    return null;
  }

  #placeOf({ holder, clientId, qos: granted }: Subscription, topic: string, qos: 0 | 1 | 2): Place {
    const { access } = this.#parts;
    const connection = connectedOf(holder);
    if (connection) {
      const { identity, session } = connection;
      const { window } = connection.flow;
      if (!identity || !access.mayReceive(identity, topic)) return 'NONE';
      // Queued messages that are not on disk yet are not in flight.
      const hasWindow = window === null || (window.isOpen && (session?.queue.size ?? 0) < window.size);
      const hasRoom = hasWindow && connection.flow.held === null && !connection.flow.isDraining && connection.hasRoom;
      return hasRoom ? 'ROOM' : 'FULL';
    }
    if (!(holder instanceof Session) || qos === 0 || granted === 0) return 'NONE';
    const username = holder.about?.username ?? null;
    return access.mayReceive({ clientId, username }, topic) ? 'ASLEEP' : 'NONE';
  }

  /** Gives what a member that is offline now has not got, or not acknowledged, to others. */
  closed(connection: Connection): void {
    const { session } = connection;
    const { window, shared, held } = connection.flow;
    if (session) {
      if (session.owner === connection || session.owner === null) this.#giveQueue(session, false);
      return;
    }
    const given = shared?.takeAll() ?? [];
    const next = () => window?.shift() ?? held?.shift();
    for (let waiting = next(); waiting; waiting = next()) {
      if (waiting.shared) given.push({ ...waiting.shared, message: waiting.message });
    }
    this.#inSlices(given.values(), (one) => this.give(one));
  }

  /** The session ends, so it must not keep what others could get. */
  #ended(session: Session): void {
    this.#giveQueue(session, true);
  }

  /** Where a message is now that was queued and not delivered yet; `null` if no queue has it. */
  current(queued: Queued): Queued | null {
    let current = queued;
    for (let moved: Queued | undefined = queued; moved; moved = this.#moved.get(moved.entry)) current = moved;
    return current.session.queue.get(current.entry.position) === current.entry ? current : null;
  }

  #giveQueue(session: Session, isOver: boolean): void {
    const { store } = this.#parts;
    const given: Queued[] = [];
    for (const entry of session.queue.values()) {
      if (entry.share !== null && (entry.qos === 1 || entry.packetId === undefined)) given.push({ session, entry });
    }
    if (given.length === 0) return;
    const move = (queued: Queued) => {
      const { entry } = queued;
      const { topic, payload, properties, qos, retain } = entry.message;
      const group = store.subscriptions.group(entry.share ?? '');
      const now = Date.now();
      if (!group || isExpired(properties, now) || session.queue.get(entry.position) !== entry) return;
      const member = this.#choose(group, { topic, qos }, isOver);
      if (!member || member.holder === session) return;
      const grant = grantOf(recipientOf(member, group), { qos, retain });
      if (grant) {
        const isDelivered = entry.message.isDelivered;
        const moved = { session: grant.session, entry: store.queues.move(queued, grant) };
        if (isDelivered) this.#sessions.deliver(moved);
        else this.#moved.set(entry, moved);
        return;
      }
      const message = new OutgoingPublish(topic, payload, properties && outgoing(properties, now));
      this.#send(member, { message, group, qos, retain });
      store.queues.settle(session, entry);
    };
    if (isOver) for (const one of given) move(one);
    else this.#inSlices(given.values(), move);
  }

  /** Gives a message that is in no queue to a member. Without a member that can get it, it is dropped. */
  give(given: SharedMessage): void {
    const { qos, retain } = given;
    const message = given.message.after(Date.now());
    if (!message) return;
    const { topic, payload, properties } = message;
    const group = this.#parts.store.subscriptions.group(given.group.filter);
    const member = group && this.#choose(group, { topic, qos }, true);
    if (!group || !member) return;
    const grant = grantOf(recipientOf(member, group), { qos, retain });
    if (!grant) {
      this.#send(member, { message, group, retain, qos });
      return;
    }
    const added = { topic, payload: copyOf(payload), qos, retain, properties: withExpiry(properties, Date.now()) };
    for (const queued of this.#parts.store.queues.add([grant], added)) {
      queued.entry.message.isDelivered = true;
      this.#sessions.deliver(queued);
    }
  }

  #send(member: Subscription, { message, group, retain, qos }: SharedMessage): void {
    const connection = connectedOf(member.holder);
    if (connection) this.#sender.sendLive(connection, recipientOf(member, group), message, { qos, retain });
  }

  #inSlices<T>(all: Iterator<T>, work: (one: T) => void): void {
    for (let count = 0; count < SLICE; count += 1) {
      const { done, value } = all.next();
      if (done) return;
      this.#parts.faults.run(undefined, 'a message of a shared subscription could not be given to another member', () =>
        work(value),
      );
    }
    this.#parts.time.nextIteration(() => this.#inSlices(all, work));
  }
}

type Addressed = Pick<Publish, 'topic' | 'qos'>;

function take(ring: MemberRing, at: number): Subscription | null {
  ring.next = (at + 1) % ring.members.length;
  return ring.members[at] ?? null;
}

/** NONE: the member cannot get the message. */
type Place = 'ROOM' | 'FULL' | 'ASLEEP' | 'NONE';

const isConnected = (member: Subscription | undefined): boolean =>
  member !== undefined && connectedOf(member.holder) !== null;
