import { type ScriptedBroker, startScriptedBroker } from '../../../support/aedes-broker.ts';
import { connected, type TestService } from '../../../support/service.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * A broker that serves `cedalo/inspect` and `cedalo/client-control` like the commercial plugins, with clients of the
 * test.
 */
interface CommercialBroker extends ScriptedBroker {
  /** By client id, as `getClient` answers; lists leave the detail out. */
  readonly clients: Map<string, Fields>;
  /** Commands to client control, oldest first, without correlation data. */
  readonly commands: Fields[];
  /** Answers that a command gets instead of being done; null: none at all. */
  readonly answers: Map<string, Fields | null>;
  /** Called with each command to client control. */
  onCommand: () => void;
}

const SUMMARY = [
  'username',
  'clientid',
  'address',
  'protocol',
  'protocolVersion',
  'connected',
  'lastConnect',
  'lastDisconnect',
  'queues',
];

const LISTED_QUEUES = ['bytesOut', 'bytesMax', 'messagesOut', 'messagesMax', 'pagedMessagesOut', 'pagedMessagesMax'];

const chosen = (fields: Fields, keys: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => keys.includes(key)));

const summaryOf = (client: Fields): Fields => ({
  ...chosen(client, SUMMARY),
  ...(client.queues ? { queues: chosen(client.queues as Fields, LISTED_QUEUES) } : {}),
});

export async function startCommercialBroker(): Promise<CommercialBroker> {
  const clients = new Map<string, Fields>();
  const commands: Fields[] = [];
  const answers = new Map<string, Fields | null>();
  const inspect = ({ command, clientid, verbose, offset = 0, count = -1 }: Fields): Fields => {
    if (command === 'getClient') {
      const client = clients.get(String(clientid));
      return client ? { data: { client } } : { error: 'Client not found' };
    }
    if (command !== 'listClients') return { error: 'Unknown command' };
    const all = [...clients.values()].map((client) => (verbose === true ? summaryOf(client) : client.clientid));
    const [from, most] = [Number(offset), Number(count)];
    return { data: { totalCount: all.length, clients: all.slice(from, most < 0 ? undefined : from + most) } };
  };
  const control = (fields: Fields): Fields | null => {
    const { command, clientid, topic } = fields;
    if (command === 'getCapabilities') return { error: 'Unknown command' };
    commands.push(fields);
    made.onCommand();
    const scripted = answers.get(String(clientid));
    if (scripted !== undefined) return scripted;
    const client = clients.get(String(clientid));
    if (!client || client.connected === false) return { error: 'Client not found' };
    const subscriptions = (client.subscriptions ?? []) as string[];
    if (command === 'disconnectClient') clients.delete(String(clientid));
    else if (command === 'subscribeClient')
      clients.set(String(clientid), { ...client, subscriptions: [...subscriptions, topic] });
    else clients.set(String(clientid), { ...client, subscriptions: subscriptions.filter((known) => known !== topic) });
    return { data: {} };
  };
  const broker = await startScriptedBroker((topic, payload) => {
    const serve =
      topic === '$CONTROL/cedalo/inspect/v1' ? inspect : topic === '$CONTROL/cedalo/client-control/v1' ? control : null;
    if (serve === null) return ['{"error":"endpoint not available"}'];
    const { commands: asked } = JSON.parse(payload) as { commands: Fields[] };
    const responses = asked.flatMap(({ correlationData, ...fields }) => {
      const answer = serve(fields);
      return answer === null ? [] : [{ command: fields.command, correlationData, ...answer }];
    });
    return [JSON.stringify({ responses })];
  });
  const made: CommercialBroker = { ...broker, clients, commands, answers, onCommand: () => undefined };
  return made;
}

/** Everything that 2.12 documents. */
export const meter = (clientid: string, username = 'meters'): Fields => ({
  username,
  clientid,
  address: '10.0.0.7',
  protocol: 'MQTT-SN',
  protocolVersion: 'v5',
  connected: true,
  lastConnect: 1_700_000_000_000,
  lastDisconnect: null,
  queues: {
    bytesIn: 1,
    bytesOut: 2,
    bytesMax: 3,
    messagesIn: 4,
    messagesMax: 5,
    messagesInQos12: 6,
    messagesOut: 7,
    messagesOutQos12: 8,
    pagedMessagesOut: 9,
    pagedMessagesMax: 10,
  },
  numSubscriptions: 1,
  numPublished: 11,
  numSubscribed: 12,
  numDropped: 13,
  bytesPublished: 14,
  bytesSubscribed: 5_000_000_000,
  keepalive: 60,
  cleanSession: false,
  tls: { clientCertificate: '-----BEGIN CERTIFICATE-----', version: 'TLSv1.3', ciphers: 'TLS_AES_256_GCM_SHA384' },
  listener: { port: 8883, bind_address: '0.0.0.0' },
  will: {
    topic: 'gone',
    qos: 1,
    retain: true,
    payload: 'YnllCg==',
    properties: [
      { identifier: 'user-property', name: 'site', value: 'hall 3' },
      { identifier: 'content-type', value: 'text/plain' },
    ],
    delayInterval: 4_294_967_295,
  },
  subscriptions: ['plant/#'],
  inflight: {
    bytesIn: 1,
    bytesOut: 2,
    bytesMax: 3,
    messagesIn: 4,
    messagesInMax: 5,
    messagesOut: 6,
    messagesOutMax: 7,
    messagesMax: 8,
  },
});

/** The fields that the plugin reports without a licence. */
export const freeMeter = (clientid: string): Fields => ({
  username: 'meters',
  clientid,
  address: '10.0.0.8',
  protocol: 'MQTT',
  protocolVersion: 'v3.1.1',
});

/** Adds a broker to the project; resolves when it is connected. */
export async function addBroker(service: TestService, url: string, more: Fields = {}): Promise<string> {
  const path = `/api/projects/${service.projectId}/brokers`;
  const { body } = await service.rest('POST', path, service.root, { url, ...more });
  await connected(service, body.id);
  return body.id;
}
