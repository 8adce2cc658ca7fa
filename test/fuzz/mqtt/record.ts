import type { IPublishPacket, Packet } from 'mqtt-packet';
import { bytesOf, type ConnectPacket, type FuzzPacket, type Text } from './packets.ts';
import { isOfBroker, type Party } from './party.ts';
import { Peer } from './peer.ts';
import type { Sequence, Step } from './sequence.ts';

/** The results of a sequence as text. Two brokers with the same behaviour give equal texts. */
export interface Outcome {
  /** The responses and the closed connections of each step. */
  readonly steps: readonly string[];
  /** Messages that the observer received, sorted, because brokers may interleave the messages of two clients. */
  readonly messages: readonly string[];
  /**
   * Messages that each connection received, each once, because brokers may deliver a message for each matching
   * subscription.
   */
  readonly received: readonly string[];
}

/**
 * Longest time for a response or the end of a connection. Milliseconds; generous, because tests share their machine.
 */
const MAX_RESPONSE = 30_000;

const RESPONSES: Readonly<Record<string, string>> = {
  connect: 'connack',
  subscribe: 'suback',
  unsubscribe: 'unsuback',
  pubrel: 'pubcomp',
  pingreq: 'pingresp',
};

/**
 * Plays a sequence of clients that follow the specification. Each step waits until the broker has handled the previous
 * one.
 */
export async function record(sequence: Sequence, party: Party): Promise<Outcome> {
  const { observer, stage } = party;
  const peers = new Map<number, Peer>();
  const steps: string[] = [];
  observer.take();
  for (const step of sequence) {
    steps.push(await takeStep(step, party, peers));
  }
  await Promise.all(Array.from(peers.values(), pinged));
  const received = new Set(
    Array.from(peers, ([on, { packets }]) =>
      packets.flatMap((packet) =>
        packet.cmd === 'publish' && !isOfBroker(packet.topic) ? [`${on}: ${textOf(packet)}`] : [],
      ),
    ).flat(),
  );
  for (const peer of peers.values()) {
    peer.end();
    await inTime(peer.closed, 'the end of a connection');
  }
  await stage.settle();
  await observer.settle();
  const messages = observer.take().map(textOf);
  await forget(sequence, party);
  return { steps, messages: messages.sort(), received: [...received].sort() };
}

/** Sends PINGREQ. When PINGRESP has arrived, all earlier packets of the broker have arrived, too. */
async function pinged(peer: Peer): Promise<void> {
  const count = () => peer.packets.filter(({ cmd }) => cmd === 'pingresp').length;
  const before = count();
  await peer.send([{ type: 'pingreq' }]);
  await inTime(
    peer.until(() => count() > before),
    'the response to a ping',
  );
}

function textOf({ topic, payload, retain, properties = {} }: IPublishPacket): string {
  const { messageExpiryInterval, ...others } = properties;
  // The remaining seconds depend on the duration of the test.
  const expires = messageExpiryInterval === undefined ? [] : ['expires'];
  const about = Object.entries(others).map((property) => JSON.stringify(property));
  return [topic.slice(0, 50), payload, ...(retain ? ['retained'] : []), ...expires, ...about.sort()].join(' ');
}

async function takeStep(step: Step, { stage, observer }: Party, peers: Map<number, Peer>): Promise<string> {
  const wereOpen = [...peers].filter(([, peer]) => !peer.isClosed).map(([on]) => on);
  let responses: string[] = [];
  if (step.do === 'restart') await stage.restart(step.how);
  else if (step.do === 'drop') {
    peers.get(step.on)?.end();
    await inTime(peers.get(step.on)?.closed, 'the end of a connection');
  } else if (step.do === 'send') responses = await exchange(step.on, step.packets, stage, peers);
  await observer.settle();
  const closed = wereOpen.filter((on) => peers.get(on)?.isClosed);
  return [...responses, ...closed.map((on) => `connection ${on} is closed`)].join(', ');
}

/** Sends packets and waits for the response to each. */
async function exchange(
  on: number,
  packets: readonly FuzzPacket[],
  { port, account }: Party['stage'],
  peers: Map<number, Peer>,
): Promise<string[]> {
  const [first] = packets;
  if (!first) return [];
  let peer = peers.get(on);
  if (!peer || peer.isClosed) {
    if (first.type !== 'connect') return [];
    peer = new Peer(first, { port, account, acknowledges: true });
    peers.set(on, peer);
  }
  const from = peer.packets.length;
  const expected = packets.map(responseTo).filter((cmd) => cmd !== undefined);
  const came = () => peer.packets.slice(from).filter(({ cmd }) => expected.includes(cmd));
  await peer.send(packets);
  await inTime(
    packets.some(({ type }) => type === 'disconnect')
      ? peer.closed
      : peer.until(() => came().length >= expected.length),
    `the response to ${packets.map(({ type }) => type)}`,
  );
  const refused = peer.packets[from]?.cmd === 'connack' && !isAccepted(peer.packets[from]);
  if (refused) await inTime(peer.closed, 'the end of a refused connection');
  else await endOfTakenOver(peer, peers);
  const responses = came().map((packet) => describe(packet, peer));
  return refused ? [...responses, `connection ${on} is refused`] : responses;
}

/** Waits until the broker has closed a connection that was taken over. Brokers may accept the new one before. */
async function endOfTakenOver(peer: Peer, peers: ReadonlyMap<number, Peer>): Promise<void> {
  for (const other of peers.values()) {
    const isSame = other !== peer && peer.clientId !== '' && other.clientId === peer.clientId;
    if (isSame) await inTime(other.closed, 'the end of a connection that was taken over');
  }
}

function responseTo(packet: FuzzPacket): string | undefined {
  if (packet.type !== 'publish') return RESPONSES[packet.type];
  return [undefined, 'puback', 'pubrec'][packet.qos];
}

const isAccepted = (packet: Packet): boolean =>
  packet.cmd === 'connack' && (packet.returnCode ?? 0) === 0 && (packet.reasonCode ?? 0) === 0;

/** MQTT 3.1.1 return codes and MQTT 5 reason codes by their meaning. */
const REFUSALS: Readonly<Record<number, string>> = {
  1: 'version',
  132: 'version',
  2: 'client id',
  133: 'client id',
  4: 'credentials',
  5: 'credentials',
  134: 'credentials',
  135: 'credentials',
};

/**
 * The text omits the reason of PUBCOMP: for a PUBREL of an unknown id the embedded broker sends 0x92 (MQTT 5, 3.7.2.1),
 * Mosquitto sends 0.
 */
function describe(packet: Packet, { version }: Peer): string {
  switch (packet.cmd) {
    case 'connack': {
      const code = packet.reasonCode ?? packet.returnCode ?? 0;
      // In MQTT 3.1 the byte of the flag is reserved.
      const session = version === 3 ? '' : `, session: ${packet.sessionPresent}`;
      return code === 0 ? `accepted${session}` : `refused: ${REFUSALS[code] ?? code}`;
    }
    case 'suback':
      return `suback ${packet.granted.map((code) => (Number(code) < 128 ? code : 'refused'))}`;
    case 'puback':
    case 'pubrec':
      return `${packet.cmd} ${(packet.reasonCode ?? 0) < 128 ? 'done' : 'refused'}`;
    default:
      return packet.cmd;
  }
}

/** Ends the sessions of a sequence and deletes its retained messages. */
async function forget(sequence: Sequence, { stage, observer }: Party): Promise<void> {
  const packets = sequence.flatMap((step) => (step.do === 'send' ? step.packets : []));
  const connects = packets.filter((packet) => packet.type === 'connect');
  const ids = new Map(connects.map(({ id }) => [String(id), id]));
  await Promise.all(
    Array.from(ids.values(), async (id) => {
      const connect: ConnectPacket = { type: 'connect', version: 4, id, clean: true };
      const peer = new Peer(connect, { port: stage.port, account: stage.account, acknowledges: true });
      await peer.send([connect, { type: 'disconnect' }]);
      await inTime(peer.closed, 'the end of a connection');
    }),
  );
  const topics = packets.flatMap((packet): Text[] => {
    if (packet.type === 'publish' && packet.retain) return [packet.topic];
    return packet.type === 'connect' && packet.will?.retain ? [packet.will.topic] : [];
  });
  await observer.clear([...new Set(topics.map((topic) => bytesOf(topic).toString()))]);
  await observer.settle();
  observer.take();
}

async function inTime(work: Promise<void> | undefined, what: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come in ${MAX_RESPONSE} ms`)), MAX_RESPONSE);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
