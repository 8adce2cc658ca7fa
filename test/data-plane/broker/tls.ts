import { once } from 'node:events';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { onTestFinished } from 'vitest';
import type { EmbeddedBrokerOptions } from '../../../src/data-plane/broker/embedded-broker.ts';
import type { TestCertificate } from '../../support/certificates.ts';
import {
  ADMINISTRATOR,
  connect,
  control,
  listener,
  startTestBroker,
  type TestBroker,
  useTestBroker,
} from './embedded.ts';

/** Numbers of the listeners of `startTlsBroker`; PLAIN has no TLS, MUTUAL asks for a certificate. */
export const PLAIN = 1;
export const MQTTS = 2;
export const WSS = 3;
export const MUTUAL = 4;

export const TLS_LISTENERS = [
  listener(),
  listener({ number: MQTTS, tls: true }),
  listener({ number: WSS, tls: true, protocol: 'WEBSOCKET' }),
  listener({ number: MUTUAL, tls: true, requireCertificate: true }),
];

/** `run` answers the `data` of a command of `certificate-management`, or its refusal: `error: …`. */
export function certificateCommands(admin: MqttClient) {
  const run = async (command: string, fields: object = {}) => {
    const [response] = await control(admin, 'certificate-management', { commands: [{ command, ...fields }] });
    return response?.error === undefined ? response?.data : `error: ${response.error}`;
  };
  const setServer = (listener_id: number, { cert, key }: Pick<TestCertificate, 'cert' | 'key'>, name = 'server.pem') =>
    run('setServerCertificate', { listener_id, file_name: name, cert_pem: cert, key_pem: key });
  const insertCa = (listener_id: number, { leaf }: Pick<TestCertificate, 'leaf'>, name = 'ca.pem') =>
    run('insertCACertificate', { listener_id, file_name: name, ca_cert_pem: leaf });
  const deleteCa = (listener_id: number, name = 'ca.pem') =>
    run('deleteCACertificate', { listener_id, file_name: name });
  return { run, setServer, insertCa, deleteCa };
}

export const startTlsBroker = async (options: Partial<EmbeddedBrokerOptions> = {}) =>
  accessTo(await startTestBroker({ listeners: TLS_LISTENERS, ...options }));

/** One broker for the tests of a file. Each call removes its certificates. */
export function useTlsBroker() {
  const shared = useTestBroker({ listeners: TLS_LISTENERS });
  return async () => {
    const access = await accessTo(shared());
    const { listeners } = (await access.run('listCertificates')) as Listed;
    for (const { listener_id, server, cas } of listeners) {
      if (server) await access.run('removeServerCertificate', { listener_id });
      for (const { file_name } of cas) await access.deleteCa(listener_id, file_name);
    }
    return access;
  };
}

interface Listed {
  readonly listeners: readonly {
    readonly listener_id: number;
    readonly server: object | null;
    readonly cas: readonly { readonly file_name: string }[];
  }[];
}

async function accessTo(broker: TestBroker) {
  const portOf = (number: number) => broker.listeners.find((one) => one.number === number)?.port ?? 0;
  const admin = await connect(portOf(PLAIN));
  return { broker, portOf, admin, ...certificateCommands(admin) };
}

export const SUCCESS = { response: 'SUCCESS' };

/** Connects over TLS or rejects; the certificate of the server is that of `ca`, or one that it issued. */
export async function connectSecure(
  port: number,
  ca: TestCertificate,
  options: IClientOptions & { ws?: boolean } = {},
) {
  const { ws = false, ...rest } = options;
  const client = await mqtt.connectAsync(
    `${ws ? 'wss' : 'mqtts'}://localhost:${port}${ws ? '/mqtt' : ''}`,
    {
      ...ADMINISTRATOR,
      ca: ca.leaf,
      protocolVersion: 4,
      reconnectPeriod: 0,
      ...rest,
    },
    false,
  );
  client.on('error', () => {});
  onTestFinished(() => client.endAsync(true).then(() => {}));
  return client;
}

/** `connected`, or why it was not. */
export const outcomeOf = (connecting: Promise<unknown>): Promise<string> =>
  connecting.then(
    () => 'connected',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );

/** A handshake alone. */
export async function shakeHands(port: number, options: object = {}): Promise<TLSSocket> {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

export async function servedBy(port: number): Promise<string | null> {
  try {
    return (await shakeHands(port)).getPeerX509Certificate()?.fingerprint256 ?? null;
  } catch {
    return null;
  }
}
