import { CERTIFICATE_API } from '../../protocol/apis/certificate-control.ts';
import { type ControlApi, type ControlCommand, requestTopic } from '../../protocol/control/envelope.ts';
import { fieldOf } from '../../protocol/control/fields.ts';
import { listenerList } from '../../protocol/control/listeners.ts';
import { type ControlPlugin, ControlRefusal } from '../../protocol/control/plugin.ts';
import { type CommandTable, requiredText, runCommandOf } from '../../protocol/control/plugin-arguments.ts';
import type { GatewayPlugins } from '../../protocol/hosting/gateway-plugins.ts';
import type { BrokerSession } from '../../protocol/mqtt/broker-session.ts';
import type { ListenerCertificates } from './listener-certificates.ts';
import type { ListenerCertificate } from './listener-files.ts';
import type { MosquittoBroker } from './mosquitto-broker.ts';
import { watchClientId } from './mosquitto-watch.ts';

/** The control APIs that Mosquitto lacks and that this service provides. */
export const MOSQUITTO_APIS: readonly ControlApi[] = ['broker', CERTIFICATE_API];

/** Executes a command in the process that runs the broker. */
type Execute = (api: ControlApi, command: ControlCommand) => Promise<unknown>;

/** The plugins of a Mosquitto of this service, in each process, and the client id of its monitor. */
export const mosquittoPlugins = (brokerId: string, execute: Execute): GatewayPlugins => ({
  plugins: [
    { api: 'broker', create: async () => plugin('broker', (command) => execute('broker', command)) },
    {
      api: CERTIFICATE_API,
      create: async ({ session }) =>
        plugin(CERTIFICATE_API, async (command) => {
          const response = await execute(CERTIFICATE_API, command);
          // A restarted broker must be connected again, so that the next command finds it available.
          await whenBack(session);
          return response;
        }),
    },
  ],
  clientIds: [watchClientId(brokerId)],
});

const plugin = (api: ControlApi, execute: ControlPlugin['execute']): ControlPlugin => ({
  api,
  execute,
  close: () => {},
});

/** Executes a command in this process, which runs the broker. */
export const executeOnMosquitto = (broker: MosquittoBroker, api: ControlApi, command: ControlCommand): unknown =>
  runCommandOf(api === 'broker' ? brokerCommands(broker) : certificateCommands(broker.certificates), command);

/** `broker`, which Mosquitto 2.0 does not provide. A TLS listener is also listed while it has no certificate. */
const brokerCommands = (broker: MosquittoBroker): CommandTable => ({
  listplugins: () => ({
    plugins: [{ name: 'dynamic-security', 'control-endpoints': [requestTopic('dynamic-security')] }],
  }),
  listlisteners: () => listenerList(broker.listeners),
});

const success = async (change: Promise<void>) => {
  await change;
  return { response: 'SUCCESS' };
};

/** The `certificate-management` API of a Mosquitto that this service runs. */
const certificateCommands = (certificates: ListenerCertificates): CommandTable => ({
  insertcacertificate: (command) =>
    success(certificates.insertAuthority(...fileOf(command), requiredText(command, 'ca_cert_pem'))),
  deletecacertificate: (command) => success(certificates.deleteAuthority(...fileOf(command))),
  setservercertificate: (command) => {
    const file = fileOf(command);
    const pems = [requiredText(command, 'cert_pem'), requiredText(command, 'key_pem')] as const;
    return success(certificates.setServer(...file, ...pems));
  },
  removeservercertificate: (command) => success(certificates.removeServer(listenerId(command))),
  listcertificates: () => ({
    listeners: certificates.list().map(({ number, server, authorities }) => ({
      listener_id: number,
      server: server === null ? null : summaryOf(server),
      cas: authorities.map(summaryOf),
    })),
  }),
});

const summaryOf = ({ fileName, fingerprint256 }: ListenerCertificate) => ({ file_name: fileName, fingerprint256 });

const fileOf = (command: ControlCommand) => [listenerId(command), fileName(command)] as const;

function listenerId(command: ControlCommand): number {
  const id = fieldOf(command, 'listener_id');
  if (!Number.isSafeInteger(id)) throw new ControlRefusal('Invalid/missing listener_id');
  return id as number;
}

function fileName(command: ControlCommand): string {
  const name = requiredText(command, 'file_name');
  if (name === '' || name.length > 255 || /[/\\\0]|^\.\.?$/.test(name)) {
    throw new ControlRefusal('Invalid/missing file_name');
  }
  return name;
}

/** Maximum wait in milliseconds for the connection. The change itself is complete by then. */
const BACK_MS = 1_500;

/** When a restart is complete, the connection has already noticed that it began. */
function whenBack(session: BrokerSession): Promise<void> {
  if (session.status.state === 'CONNECTED') return Promise.resolve();
  return new Promise<void>((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const timer = setTimeout(finish, BACK_MS);
    const stop = session.onStatus(({ state }) => {
      if (state === 'CONNECTED') finish();
    });
  });
}
