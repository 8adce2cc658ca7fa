import { type ScriptedBroker, startScriptedBroker } from '../../support/aedes-broker.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A broker that implements `listListeners` and `certificate-management` like the documented commercial brokers. */
interface CommercialCertificates extends ScriptedBroker {
  /** Files by listener and name, such as `2/ca.pem`. */
  readonly files: Map<string, string>;
  /** Commands of `certificate-management`, oldest first, without correlation data. */
  readonly commands: Fields[];
  /**
   * Returns what happens instead of the command. SILENT: the command is executed without a response. A text: the
   * command is refused with it.
   */
  instead: (command: Fields) => 'SILENT' | string | null;
}

const LISTENERS: readonly Fields[] = [
  { id: 1, port: 1883, protocol: 'mqtt', tls: false },
  { id: 2, port: 8883, protocol: 'mqtt', tls: true, 'bind-address': '0.0.0.0', 'require-certificate': true },
  { id: 3, port: 8884, protocol: 'mqtt+websockets', tls: true },
  { id: 4, port: 8885, protocol: 'mqtt', tls: true, 'bind-address': '10.0.0.1' },
  { id: 5, port: 8885, protocol: 'mqtt', tls: true, 'bind-address': '10.0.0.2' },
  { id: 6, port: 0, protocol: 'mqtt', tls: false, 'socket-path': '/run/mosquitto.sock' },
];

interface CommercialOptions {
  readonly listeners?: readonly Fields[];
  /**
   * Whether the broker also supports server certificates and listCertificates, like brokers that this service runs.
   * Fingerprints are `<PEM>`.
   */
  readonly fingerprintOf?: (pem: string) => string;
}

export async function startCommercialCertificates(options: CommercialOptions = {}): Promise<CommercialCertificates> {
  const { listeners = LISTENERS, fingerprintOf } = options;
  const files = new Map<string, string>();
  const servers = new Map<number, { readonly file_name: string; readonly pem: string }>();
  const commands: Fields[] = [];
  const execute = ({ command, listener_id, file_name, ca_cert_pem, cert_pem }: Fields): Fields => {
    const key = `${listener_id}/${file_name}`;
    const done = { data: { response: 'SUCCESS' } };
    if (fingerprintOf && command === 'listCertificates') {
      return {
        data: {
          listeners: listeners.map(({ id }) => {
            const server = servers.get(Number(id));
            return {
              listener_id: id,
              server: server ? { file_name: server.file_name, fingerprint256: fingerprintOf(server.pem) } : null,
              cas: [...files]
                .filter(([name]) => name.startsWith(`${id}/`))
                .map(([name, pem]) => ({ file_name: name.slice(2), fingerprint256: fingerprintOf(pem) })),
            };
          }),
        },
      };
    }
    const listener = listeners.find(({ id }) => id === listener_id);
    if (fingerprintOf && command === 'setServerCertificate') {
      servers.set(Number(listener_id), { file_name: String(file_name), pem: String(cert_pem) });
      return done;
    }
    if (fingerprintOf && command === 'removeServerCertificate') {
      return servers.delete(Number(listener_id)) ? done : { error: 'File not found' };
    }
    if (command === 'insertCACertificate' || command === 'deleteCACertificate') {
      if (listener === undefined) return { error: 'Listener not found' };
      if (listener.tls !== true) return { error: 'TLS is not enabled on this listener' };
    }
    switch (command) {
      case 'insertCACertificate':
        if (files.has(key)) return { error: 'File already exists' };
        files.set(key, String(ca_cert_pem));
        return done;
      case 'deleteCACertificate':
        return files.delete(key) ? done : { error: 'File not found' };
      default:
        return { error: 'Unknown command' };
    }
  };
  let broker: CommercialCertificates | null = null;
  const scripted = await startScriptedBroker((topic, payload) => {
    const { commands: asked } = JSON.parse(payload) as { commands: Fields[] };
    if (topic === '$CONTROL/broker/v1') {
      const answers = asked.map(({ command, correlationData }) => ({
        command,
        correlationData,
        ...(command === 'listListeners' ? { data: { listeners } } : { data: { plugins: [] } }),
      }));
      return [JSON.stringify({ responses: answers })];
    }
    if (topic !== '$CONTROL/certificate-management/v1') return ['{"error":"endpoint not available"}'];
    const responses = asked.flatMap(({ correlationData, ...fields }) => {
      commands.push(fields);
      const instead = broker?.instead(fields) ?? null;
      if (instead !== null && instead !== 'SILENT')
        return [{ command: fields.command, correlationData, error: instead }];
      const answer = { command: fields.command, correlationData, ...execute(fields) };
      return instead === 'SILENT' ? [] : [answer];
    });
    return responses.length === 0 ? [] : [JSON.stringify({ responses })];
  });
  broker = { ...scripted, files, commands, instead: () => null };
  return broker;
}
