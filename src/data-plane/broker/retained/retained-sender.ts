import { SLICE_MS } from '../../../protocol/mqtt/reading-time-limit.ts';
import type { Connection } from '../clients/connection.ts';
import type { CoreParts } from '../core/core-parts.ts';
import type { ClientSender } from '../delivery/client-sender.ts';
import type { SessionSender } from '../delivery/session-sender.ts';
import { OutgoingPublish } from '../publishing/outgoing-publish.ts';
import { withExpiry } from '../store/message-properties.ts';
import type { RetainedPacket } from '../store/retained-rows.ts';
import type { Session } from '../store/session.ts';
import { lowerQos, type Subscription } from '../store/subscription.ts';
import { identifiersOf } from '../store/subscription-index.ts';
import { WaitingLiveMessages } from './waiting-live-messages.ts';

export interface RetainedMessage {
  readonly packet: RetainedPacket;
  readonly subscription: Subscription;
}

/** Unacknowledged messages of a client beyond which the next retained messages wait. */
const MAX_UNACKNOWLEDGED = 1_000;
/** Minimum number of held messages that are sent before other clients are served. */
const SLICE = 200;

/** Sends retained messages to a client, and the live messages that were held meanwhile. */
export class RetainedSender {
  readonly #parts: CoreParts;
  readonly #sender: ClientSender;
  readonly #sessions: SessionSender;

  constructor(parts: CoreParts, sender: ClientSender, sessions: SessionSender) {
    this.#parts = parts;
    this.#sender = sender;
    this.#sessions = sessions;
  }

  /** Holds the live messages of the client from now on, until `release` was called as often. */
  hold(connection: Connection): void {
    connection.flow.held ??= new WaitingLiveMessages((bytes) => this.#sender.budget.count(bytes));
    connection.flow.held.requests += 1;
  }

  release(connection: Connection): void {
    const { held } = connection.flow;
    if (!held) return;
    held.requests -= 1;
    if (held.requests === 0 && !held.isOver) this.#sendHeld(connection, held);
  }

  #sendHeld(connection: Connection, held: WaitingLiveMessages): void {
    const { time } = this.#parts;
    const start = performance.now();
    // As much time as one publisher has: with less, live messages may come faster, and would be held for ever.
    const end = start + SLICE_MS;
    for (let count = 0; !connection.isClosing && (count < SLICE || performance.now() < end); count += 1) {
      const copy = held.shift();
      if (!copy) {
        connection.flow.held = null;
        if (!held.hasQueued) return;
        connection.flow.isDraining = true;
        connection.flow.unsent = null;
        this.#sessions.drain(connection);
        return;
      }
      this.#sender.sendHeld(connection, copy);
    }
    if (connection.isClosing) return;
    time.spend(performance.now() - start);
    time.nextIteration(() => {
      if (held.requests > 0 || held.isOver) return;
      const text = 'messages could not be sent to a client';
      this.#parts.faults.run(connection, text, () => this.#sendHeld(connection, held));
    });
  }

  /** `drained` is called when the client's socket has taken the messages, or it has left. */
  send(connection: Connection, messages: readonly RetainedMessage[], drained: () => void): void {
    const { access } = this.#parts;
    const { identity, session } = connection;
    let packets: Buffer[] = [];
    const flush = () => {
      if (packets.length > 0) connection.write(Buffer.concat(packets), null);
      packets = [];
    };
    for (const { packet, subscription } of messages) {
      if (!identity || !access.mayReceive(identity, packet.topic)) continue;
      const qos = lowerQos(packet.qos, subscription.qos);
      if (session && qos > 0) this.#queue(session, packet, subscription, qos === 2 ? 2 : 1);
      else if (!connection.isClosing) {
        const copy = copyOf(packet, subscription, qos);
        const bytes = qos === 0 ? this.#sender.smallPacket(connection, copy) : null;
        if (bytes) packets.push(bytes);
        else {
          flush();
          this.#sender.send(connection, copy);
        }
      }
    }
    flush();
    if (connection.isClosing || connection.hasRoom) drained();
    else connection.waitForDrain(drained);
  }

  /** [MQTT-4.1.0-1] A message of a session is queued. The queue also gets those of a client that has left. */
  #queue(session: Session, packet: RetainedPacket, subscription: Subscription, qos: 1 | 2): void {
    const { topic, payload, properties } = packet;
    const grant = { session, qos, retain: true, share: null, identifiers: identifiersOf(subscription) };
    const message = { topic, payload, qos: packet.qos, retain: true, properties: withExpiry(properties, Date.now()) };
    for (const queued of this.#parts.store.queues.add([grant], message)) {
      queued.entry.message.isDelivered = true;
      this.#sessions.deliver(queued);
    }
  }
}

function copyOf({ topic, payload, properties }: RetainedPacket, subscription: Subscription, qos: 0 | 1 | 2) {
  const message = new OutgoingPublish(topic, payload, properties);
  return { message, qos, retain: true, identifiers: identifiersOf(subscription), shared: null };
}

/** Calls `run` when further messages of QoS 1 and 2 would not only wait, or the connection has ended. */
export function whenSettled(connection: Connection, run: () => void): void {
  const { session } = connection;
  const { held, window } = connection.flow;
  // Live messages also wait in the queue. Without a message that was sent, no acknowledgement would come.
  const isFull = session !== null && session.sentMessages > 0 && session.queue.size >= MAX_UNACKNOWLEDGED;
  const isBusy = isFull || window?.hasQueued === true;
  if (!held || held.isOver || !isBusy) run();
  else held.onSettled = () => whenSettled(connection, run);
}
