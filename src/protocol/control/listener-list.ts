interface ListedListener {
  readonly number: number;
  readonly port: number;
  readonly host: string;
  readonly protocol: string;
  readonly tls: boolean;
  readonly requireCertificate: boolean;
}

/** The response data of `listListeners` of the API `broker`. Mosquitto 2.1 has no `id`; commercial brokers have. */
export const listenerList = (listeners: readonly ListedListener[]) => ({
  listeners: listeners.map(({ number, port, protocol, host, tls, requireCertificate }) => ({
    id: number,
    port,
    protocol: protocol === 'MQTT' ? 'mqtt' : 'mqtt+websockets',
    'bind-address': host,
    tls,
    'require-certificate': requireCertificate,
  })),
});
