import { join } from 'node:path';
import { CIPHERS_OF_TLS_1_2 } from '../../protocol/certificates/ciphers.ts';
import type { BrokerMaximums, ListenerWanted } from '../../protocol/hosting/broker-engine.ts';
import { isSince21 } from './mosquitto-version.ts';

interface MosquittoConfigOptions {
  readonly folder: string;
  readonly plugin: string;
  readonly accessFile: string;
  readonly listeners: readonly ListenerWanted[];
  readonly maximums: BrokerMaximums;
  /** Of the program that reads the configuration, for example `2.0.11`. */
  readonly version: string;
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

interface SettingsSince21 extends BrokerMaximums {
  readonly listeners: readonly Pick<ListenerWanted, 'protocolLevels' | 'proxyProtocol'>[];
}

/** The set ones of the settings that Mosquitto has since 2.1, as paths in the input of a broker. */
export const settingsSince21 = ({ listeners, maxClients, maxConnections }: SettingsSince21): string[] => [
  ...(maxClients ? ['maxClients'] : []),
  ...(maxConnections ? ['maxConnections'] : []),
  ...listeners.flatMap(({ protocolLevels, proxyProtocol }, index) => [
    ...(protocolLevels ? [`listeners.${index}.protocolVersions`] : []),
    ...(proxyProtocol ? [`listeners.${index}.proxyProtocol`] : []),
  ]),
];

/**
 * The configuration (Mosquitto 2.0 and 2.1). This service derives connected clients from `$SYS/broker/log`. Errors: the
 * version lacks a setting. Without it, the broker would accept more than it should.
 */
export function mosquittoConfig(options: MosquittoConfigOptions): string {
  const { folder, plugin, accessFile, listeners, maximums, version, filesOf, isRoot } = options;
  // The listener of this service itself has the number 0.
  const settings = settingsSince21({ ...maximums, listeners: listeners.filter(({ number }) => number > 0) });
  if (settings.length > 0 && !isSince21(version)) {
    throw new Error(`Mosquitto ${version} lacks settings of this broker, which need 2.1: ${settings.join(', ')}`);
  }
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
    ...(maximums.maxClients ? [`global_max_clients ${maximums.maxClients}`] : []),
    ...(maximums.maxConnections ? [`global_max_connections ${maximums.maxConnections}`] : []),
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
  const { number, protocol, host, port, tls, requireCertificate, protocolLevels, proxyProtocol } = listener;
  const lines = ['', `listener ${port} ${host}`, ...(protocol === 'WEBSOCKET' ? ['protocol websockets'] : [])];
  if (protocolLevels) lines.push(`accept_protocol_versions ${protocolLevels}`);
  if (proxyProtocol) lines.push(`enable_proxy_protocol ${proxyProtocol}`);
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
