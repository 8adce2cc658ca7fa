import type { PacketQueue, PublisherBackpressure } from '../packets/packet-queue.ts';
import type { WaitingLiveMessages } from '../retained/waiting-live-messages.ts';
import type { QueueEntry } from '../store/session.ts';
import { InFlightMessages, type SendWindow } from './send-window.ts';
import type { UnacknowledgedShared, WaitingMessage } from './sent-messages.ts';

const MAX_PACKET_ID = 65_535;

/** The messages on their way to a client and from it, which the parts that deliver and publish change. */
export class ConnectionFlow {
  /** Whether the queue of the session is being sent. Live messages of QoS 1 and 2 wait behind it. */
  isDraining = false;
  /** Where the reading of the queue continues; `null`: at its beginning. */
  unsent: Iterator<QueueEntry> | null = null;
  /** Position of the last message that was read there. Positions grow along the queue. */
  readPosition = 0;
  isDrainScheduled = false;
  /** Set while the client gets retained messages of new subscriptions. */
  held: WaitingLiveMessages | null = null;
  /** Set if the client got messages of shared subscriptions that belong to no session. */
  shared: UnacknowledgedShared | null = null;
  /** MQTT 5: set if the client limits the number of unacknowledged messages (Receive Maximum). */
  window: SendWindow<WaitingMessage> | null = null;
  /** Messages of QoS 1 and 2 that were sent to the client and belong to no session. */
  readonly inFlight = new InFlightMessages();
  /** Number of queued messages that are sent after the next commit. */
  pendingSends = 0;
  /** MQTT 5: topics by alias. `null`: none yet. */
  topicAliases: Map<number, string> | null = null;
  backpressure: PublisherBackpressure | null = null;
  /** Publishes with delayed acknowledgements, and those behind them [MQTT-4.6.0-2, MQTT-4.6.0-3]. `null`: none yet. */
  delayedAcks: PacketQueue | null = null;
  /** Unfinished control requests. */
  pendingControl = 0;
  #nextPacketId = 1 + Math.floor(Math.random() * MAX_PACKET_ID);

  /** The next packet id, from 1 to 65,535. An earlier message may still have it. */
  takePacketId(): number {
    const packetId = this.#nextPacketId;
    this.#nextPacketId = packetId >= MAX_PACKET_ID ? 1 : packetId + 1;
    return packetId;
  }
}
