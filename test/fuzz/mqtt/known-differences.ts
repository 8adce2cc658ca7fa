import { filterMatches } from '../../../src/protocol/mqtt/filter-match.ts';
import { sinceVersion } from '../../support/mosquitto.ts';
import { bytesOf, type ConnectPacket, type SubscribePacket, type Text } from './packets.ts';
import type { Sequence, Step } from './sequence.ts';

/**
 * What Mosquitto and the embedded broker do differently with clients that keep to the specification, and why
 * that is no defect.
 */
interface KnownDifference {
  readonly reason: string;
  /** Whether a sequence may show it, so that its outcomes cannot be compared. */
  shows(moments: readonly Moment[]): boolean;
}

/** One step with the connections that are open before it. */
interface Moment {
  readonly step: Step;
  readonly open: ReadonlyMap<number, ConnectPacket>;
}

const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    reason:
      'MQTT 5, 4.3.3: a server may deliver a QoS 2 message when PUBLISH arrives, as the embedded broker does, or when PUBREL arrives, ' +
      'as Mosquitto does. Only messages that are released can be compared, on the connection of their PUBLISH if the client subscribes.',
    shows: (moments) => releasedLate(moments),
  },
  {
    reason:
      'MQTT 5, 3.3.4: a server may send one message for all overlapping subscriptions of a client, with all their identifiers, as the ' +
      'embedded broker does, or one for each, as Mosquitto does. They differ if the subscriptions have identifiers or other options.',
    shows: (moments) => overlapsDifferently(moments),
  },
  {
    reason:
      'MQTT 5, 3.1.2.5 and 3.1.4: the will of a connection that is taken over is published, unless it is delayed. Mosquitto drops it if ' +
      'the session continues.',
    shows: (moments) =>
      moments.some(({ step, open }) => {
        const connect = connectOf(step);
        const taken = [...open.values()].find(({ id }) => id === connect?.id);
        return connect?.clean === false && taken?.will !== undefined;
      }),
  },
  {
    reason:
      'MQTT 5, 3.1.3.2.2: a delayed will is published when the session ends, if that is earlier: with its connection, or by a clean ' +
      'start. Mosquitto waits for the whole delay, drops it, or publishes it at its next start.',
    shows: (moments) => {
      const connects = moments.flatMap(({ step }) => connectOf(step) ?? []);
      return connects.some(
        (connect, index) =>
          connect.will?.properties?.some(({ id }) => id === WILL_DELAY) &&
          (hasRestart(moments) ||
            expiryOf(connect) === 0 ||
            connects.slice(index + 1).some(({ id, clean }) => clean && id === connect.id)),
      );
    },
  },
  {
    reason:
      'MQTT 5, 3.1.2.11.2: a session lasts as long as its expiry interval. Mosquitto does not store one that began with a clean start.',
    shows: (moments) =>
      hasRestart(moments) &&
      moments.some(({ step }) => {
        const connect = connectOf(step);
        return connect?.clean === true && expiryOf(connect) > 0;
      }),
  },
  {
    reason:
      'MQTT 5, 3.8.3.1: No Local leaves out what the client published, of which its own will is a part. Mosquitto sends the retained will.',
    shows: (moments) =>
      moments.some(
        ({ step, open }) =>
          step.do === 'send' &&
          step.packets.some((packet) => packet.type === 'subscribe' && hasNoLocal(packet)) &&
          moments.some((other) => {
            const connect = connectOf(other.step);
            return connect?.will?.retain === true && connect.id === open.get(step.on)?.id;
          }),
      ),
  },
  {
    reason:
      'MQTT 5, 3.8.4-3: a subscription to the same filter replaces the one before. Mosquitto keeps the No Local of the first.',
    shows: (moments) => {
      const subscriptions = subscriptionsOf(moments);
      return subscriptions.some((one) =>
        subscriptions.some(
          (other) => one.clientId === other.clientId && one.filter === other.filter && one.noLocal !== other.noLocal,
        ),
      );
    },
  },
  {
    reason:
      'MQTT 5, 3.1.0-2: a second CONNECT on a connection is an error, after which the will may be published. No client sends it.',
    shows: (moments) =>
      moments.some(({ step, open }) => step.do === 'send' && connectOf(step) !== undefined && open.has(step.on)),
  },
  {
    reason:
      'MQTT 5, 3.1.2.5: a server that shuts down may publish the wills of its connections at once, or after it has started again.',
    shows: (moments) =>
      moments.some(({ step, open }) => step.do === 'restart' && [...open.values()].some(({ will }) => will)),
  },
  {
    reason:
      'MQTT 5, 3.1.2.5: the will is published when the connection is closed. Mosquitto 2.0.22 and later publish it before they close ' +
      'their side, so a client that closed its own side first may still receive its own will.',
    shows: (moments) =>
      sendsOwnWill &&
      moments.some(({ step, open }) => {
        const ended = step.do === 'drop' && step.how === 'end' ? open.get(step.on) : undefined;
        return subscriptionsOf(moments).some(
          ({ clientId, filter }) =>
            clientId === String(ended?.id) && ended?.will && filterMatches(filter, textOf(ended.will.topic)),
        );
      }),
  },
];

/** Of the Mosquitto of this run. */
const sendsOwnWill = sinceVersion({ '2.0.0': false, '2.0.22': true });

const SUBSCRIPTION_IDENTIFIER = 11;
const NO_LOCAL = 0x04;
const RETAIN_AS_PUBLISHED = 0x08;
const WILL_DELAY = 24;
const SESSION_EXPIRY = 17;

const hasNoLocal = ({ filters }: SubscribePacket): boolean => filters.some(({ options }) => (options & NO_LOCAL) !== 0);

const hasRestart = (moments: readonly Moment[]): boolean => moments.some(({ step }) => step.do === 'restart');

/** The known differences that a sequence may show. */
export function knownDifferences(sequence: Sequence): readonly KnownDifference[] {
  const moments = momentsOf(sequence);
  return KNOWN_DIFFERENCES.filter(({ shows }) => shows(moments));
}

function momentsOf(sequence: Sequence): readonly Moment[] {
  const open = new Map<number, ConnectPacket>();
  return sequence.map((step) => {
    const moment = { step, open: new Map(open) };
    if (step.do === 'restart' || step.do === 'dropAll') open.clear();
    else if (step.do === 'drop') open.delete(step.on);
    else if (step.packets.some(({ type }) => type === 'disconnect')) open.delete(step.on);
    const connect = connectOf(step);
    if (connect && 'on' in step) {
      // A second CONNECT on a connection ends it.
      const isSecond = open.delete(step.on);
      for (const [on, { id }] of open) if (id !== '' && id === connect.id) open.delete(on);
      // Before MQTT 5 a client without an id is refused unless its session is clean.
      const isAccepted = connect.id !== '' || connect.clean || connect.version === 5;
      if (!isSecond && isAccepted) open.set(step.on, connect);
    }
    return moment;
  });
}

/**
 * Whether a QoS 2 publish is not released in its session, or on another connection of a client that may receive it
 * itself.
 */
function releasedLate(moments: readonly Moment[]): boolean {
  const sessions = new Sessions();
  const waiting = new Map<string, ConnectPacket>();
  const subscribers = new Set<string>();
  const late = new Set<string>();
  for (const { step, open } of moments) {
    if (step.do !== 'send') continue;
    sessions.connected(connectOf(step));
    const connect = open.get(step.on);
    if (connect === undefined) continue;
    const session = sessions.of(connect);
    for (const packet of step.packets) {
      const key = `${session} ${'packetId' in packet ? packet.packetId : ''}`;
      if (packet.type === 'subscribe') subscribers.add(String(connect.id));
      if (packet.type === 'publish' && packet.qos === 2 && !waiting.has(key)) waiting.set(key, connect);
      if (packet.type === 'pubrel') {
        if (waiting.has(key) && waiting.get(key) !== connect) late.add(String(connect.id));
        waiting.delete(key);
      }
    }
  }
  return waiting.size > 0 || [...late].some((id) => subscribers.has(id));
}

interface Subscription {
  readonly clientId: string;
  readonly filter: string;
  readonly hasIdentifier: boolean;
  readonly noLocal: boolean;
  readonly retainAsPublished: boolean;
}

function subscriptionsOf(moments: readonly Moment[]): readonly Subscription[] {
  return moments.flatMap(({ step, open }) => {
    if (step.do !== 'send') return [];
    const clientId = String((open.get(step.on) ?? connectOf(step))?.id);
    return step.packets.flatMap((packet) => {
      if (packet.type !== 'subscribe') return [];
      const hasIdentifier = packet.properties?.some(({ id }) => id === SUBSCRIPTION_IDENTIFIER) === true;
      return packet.filters.map(({ filter, options }) => ({
        clientId,
        filter: textOf(filter),
        hasIdentifier,
        noLocal: (options & NO_LOCAL) !== 0,
        retainAsPublished: (options & RETAIN_AS_PUBLISHED) !== 0,
      }));
    });
  });
}

function topicsOf(moments: readonly Moment[]): ReadonlySet<string> {
  const topics = new Set<string>();
  for (const { step } of moments) {
    for (const packet of step.do === 'send' ? step.packets : []) {
      if (packet.type === 'publish') topics.add(textOf(packet.topic));
      if (packet.type === 'connect' && packet.will !== undefined) topics.add(textOf(packet.will.topic));
    }
  }
  return topics;
}

/**
 * Whether a message of the sequence matches two subscriptions of a client, of which one has an identifier or another
 * Retain As Published.
 */
function overlapsDifferently(moments: readonly Moment[]): boolean {
  const subscriptions = subscriptionsOf(moments);
  return [...topicsOf(moments)].some((topic) => {
    const matching = subscriptions.filter(({ filter }) => filterMatches(filter, topic));
    return matching.some((one) =>
      matching.some(
        (other) =>
          one !== other &&
          one.clientId === other.clientId &&
          (one.hasIdentifier || one.retainAsPublished !== other.retainAsPublished),
      ),
    );
  });
}

const textOf = (text: Text): string => bytesOf(text).toString();

/**
 * Names of the sessions of client ids, which restart with each clean start and after each session that ends with its
 * connection.
 */
class Sessions {
  readonly #counts = new Map<string, { readonly count: number; readonly isBrief: boolean }>();

  connected(connect: ConnectPacket | undefined): void {
    if (connect === undefined) return;
    const id = String(connect.id);
    const { count, isBrief } = this.#counts.get(id) ?? { count: 0, isBrief: false };
    const isNew = connect.clean || isBrief || id === '';
    this.#counts.set(id, { count: isNew ? count + 1 : count, isBrief: expiryOf(connect) === 0 });
  }

  of({ id }: ConnectPacket): string {
    return `${id} ${this.#counts.get(String(id))?.count}`;
  }
}

const connectOf = (step: Step): ConnectPacket | undefined =>
  step.do === 'send' ? step.packets.find((packet) => packet.type === 'connect') : undefined;

/** Seconds that the session outlives its connection. */
function expiryOf({ version, clean, properties }: ConnectPacket): number {
  if (version < 5) return clean ? 0 : Number.POSITIVE_INFINITY;
  return Number(properties?.find(({ id }) => id === SESSION_EXPIRY)?.value ?? 0);
}
