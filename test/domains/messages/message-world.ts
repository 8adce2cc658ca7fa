import type { IClientOptions, MqttClient } from 'mqtt';
import { ADMIN, FOLLOWED_LOG, type Mosquitto, startMosquitto } from '../../support/mosquitto.ts';
import { connected, startTestService, type TestService } from '../../support/service.ts';
import { subscribe, type TestSubscription } from '../../support/subscription.ts';
import { brokerKinds } from '../../support/suite.ts';
import { streamWorld } from '../streams/stream-world.ts';

export const KINDS = brokerKinds(['the embedded broker', 'Mosquitto']);

/** A service with one broker that it is connected to, and a client of that broker which publishes. */
export interface MessageWorld {
  readonly service: TestService;
  readonly brokerId: string;
  readonly publisher: MqttClient;
  readonly observerId: string;
  /** Null for the embedded broker. */
  readonly mosquitto: Mosquitto | null;
  client(options?: IClientOptions): Promise<MqttClient>;
}

/** `lines`: of mosquitto.conf. */
export async function messageWorld(kind: (typeof KINDS)[number], lines: readonly string[] = []): Promise<MessageWorld> {
  if (kind === 'the embedded broker') {
    const { service, brokerId, client } = await streamWorld(kind);
    return worldOf(service, brokerId, client, null);
  }
  const mosquitto = await startMosquitto({ access: 'passwords', logTypes: FOLLOWED_LOG, lines });
  const service = await startTestService();
  return worldOf(service, await addBroker(service, mosquitto.url, ADMIN), mosquitto.client, mosquitto);
}

/** Added and connected. */
export async function addBroker(service: TestService, url: string, user: object = {}): Promise<string> {
  const path = `/api/projects/${service.projectId}/brokers`;
  const { body } = await service.rest('POST', path, service.root, { name: 'm', url, ...user });
  await connected(service, body.id);
  return body.id;
}

async function worldOf(
  service: TestService,
  brokerId: string,
  client: MessageWorld['client'],
  mosquitto: Mosquitto | null,
): Promise<MessageWorld> {
  const { runtimes, brokers } = service.services;
  // Before any other client connects: the log shows only clients that connect after the service.
  await service.graphql('query ($b: ID!) { broker(id: $b) { connectedClients { totalCount } } }', { b: brokerId });
  const runtime = await runtimes.ask(brokers.visible(brokerId, OPERATOR), async (asked) => asked);
  return {
    service,
    brokerId,
    publisher: await client(),
    observerId: runtime.observer.clientId,
    mosquitto,
    client,
  };
}

const OPERATOR = {
  kind: 'OPERATOR',
  id: 'operator',
  name: 'operator',
  credentialId: 'operator',
  expiresAt: Number.POSITIVE_INFINITY,
  isRootAdmin: true,
  projectRoles: new Map(),
  brokers: null,
} as const;

export const MESSAGES = `subscription ($b: ID!, $f: String!, $rate: Int, $bytes: Int, $after: SafeInt) {
  messages(brokerId: $b, filter: $f, maxRate: $rate, maxPayloadBytes: $bytes, after: $after) {
    kind sequence leftOut isConnected missed
    messages { topic payload payloadBase64 payloadBytes isTruncated qos retain receivedAt }
  }
}`;

interface ReceivedMessage {
  readonly topic: string;
  readonly payload: string | null;
  readonly payloadBase64: string;
  readonly payloadBytes: number;
  readonly isTruncated: boolean;
  readonly qos: number;
  readonly retain: boolean;
  readonly receivedAt: string;
}

interface ReceivedEvent {
  readonly kind: string;
  readonly sequence: number;
  readonly leftOut: number;
  readonly isConnected: boolean | null;
  readonly missed: number | null;
  readonly messages: readonly ReceivedMessage[];
}

interface TailOptions {
  readonly rate?: number;
  readonly bytes?: number;
  readonly after?: number;
  readonly token?: string;
}

/** A tail as a subscriber has it. */
interface TestTail extends Pick<TestSubscription, 'end' | 'closed'> {
  /** All events so far. */
  readonly events: readonly ReceivedEvent[];
  /** Reads on until what came fits. */
  until(fits: (event: ReceivedEvent) => boolean): Promise<ReceivedEvent>;
  /** The messages of CHANGEs so far. */
  messages(): ReceivedMessage[];
  topics(): string[];
  leftOut(): number;
}

type Place = Pick<MessageWorld, 'service' | 'brokerId'>;

/** Not begun yet at the broker: `beganTail` is. */
export function tail({ service, brokerId }: Place, filter: string, options: TailOptions = {}): TestTail {
  const { token = service.root, ...limits } = options;
  const subscription = subscribe(service, token, MESSAGES, { b: brokerId, f: filter, ...limits });
  const events: ReceivedEvent[] = [];
  const changes = () => events.filter(({ kind }) => kind === 'CHANGE');
  const messages = () => changes().flatMap((event) => event.messages);
  return {
    events,
    closed: subscription.closed,
    end: subscription.end,
    until: async (fits) => {
      const data = await subscription.until(({ messages: event }) => {
        events.push(event);
        return fits(event);
      });
      return data.messages;
    },
    messages,
    topics: () => messages().map(({ topic }) => topic),
    leftOut: () => changes().reduce((sum, { leftOut }) => sum + leftOut, 0),
  };
}

/** With its first event read, so that the broker has the subscription. */
export async function beganTail(place: Place, filter: string, options: TailOptions = {}): Promise<TestTail> {
  const begun = tail(place, filter, options);
  await begun.until(() => true);
  return begun;
}

/** What a tail ended with. */
export async function refusal(reading: Promise<unknown>): Promise<{ code: string; message: string; info?: unknown }> {
  try {
    await reading;
  } catch (error) {
    // Refused immediately, or by an event.
    const [first] = Array.isArray(error) ? error : JSON.parse((error as Error).message);
    return { message: first.message, ...first.extensions };
  }
  throw new Error('not refused');
}
