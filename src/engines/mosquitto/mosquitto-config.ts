import { join } from 'node:path';
import type { ListenerWanted } from '../../domains/brokers/broker-engine.ts';
import { CIPHERS_OF_TLS_1_2 } from '../../domains/certificates/material/ciphers.ts';

interface MosquittoConfigOptions {
  readonly folder: string;
  readonly plugin: string;
  readonly accessFile: string;
  readonly listeners: readonly ListenerWanted[];
  /** Returns the files of a TLS listener. `null`: it has no certificate yet and is omitted. */
  readonly filesOf: (number: number) => ListenerFilesInUse | null;
  /** Whether the service runs as root. Mosquitto would then change to a user that cannot read the folder. */
  readonly isRoot: boolean;
}

export interface ListenerFilesInUse {
  /** Certificate, chain and key in one file, so that they always belong together. */
  readonly server: string;
  readonly authorities: string | null;
}

/** Interval in seconds at which the database is written. A Mosquitto that is killed loses later changes. */
const AUTOSAVE_S = 60;

/** The configuration (Mosquitto 2.0 and 2.1). This service derives connected clients from `$SYS/broker/log`. */
export function mosquittoConfig(options: MosquittoConfigOptions): string {
  const { folder, plugin, accessFile, listeners, filesOf, isRoot } = options;
  for (const path of [folder, plugin]) {
    if (/[\r\n]/.test(path)) throw new Error(`Mosquitto cannot use a path with a line break in it: ${path}`);
  }
  const lines = [
    '# Written by Brokergraph at each start.',
    ...(isRoot ? ['user root'] : []),
    'allow_anonymous false',
    `plugin ${plugin}`,
    `plugin_opt_config_file ${accessFile}`,
    'persistence true',
    `persistence_location ${join(folder, '/')}`,
    `autosave_interval ${AUTOSAVE_S}`,
    'set_tcp_nodelay true',
    'connection_messages true',
    'log_timestamp true',
    'log_dest stderr',
    'log_dest topic',
    ...['error', 'warning', 'notice', 'information', 'subscribe', 'unsubscribe'].map((type) => `log_type ${type}`),
    ...listeners.flatMap((listener) => listenerLines(listener, filesOf)),
  ];
  return `${lines.join('\n')}\n`;
}

function listenerLines(listener: ListenerWanted, filesOf: (number: number) => ListenerFilesInUse | null): string[] {
  const { number, protocol, host, port, tls, requireCertificate } = listener;
  const lines = ['', `listener ${port} ${host}`, ...(protocol === 'WEBSOCKET' ? ['protocol websockets'] : [])];
  if (!tls) return lines;
  const files = filesOf(number);
  if (files === null) return [];
  lines.push(`certfile ${files.server}`, `keyfile ${files.server}`);
  lines.push('tls_version tlsv1.2', `ciphers ${CIPHERS_OF_TLS_1_2}`);
  // Without it, Mosquitto requests no client certificate. With it and without authorities, no client can connect.
  if (requireCertificate) lines.push('require_certificate true');
  if (requireCertificate && files.authorities !== null) lines.push(`cafile ${files.authorities}`);
  return lines;
}
