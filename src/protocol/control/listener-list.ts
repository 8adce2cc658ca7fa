/** A listener as `listListeners` of the API `broker` is to tell it. */
export interface ToldListener {
  readonly number: number;
  readonly port: number;
  readonly host: string;
  readonly protocol: string;
  readonly tls: boolean;
  readonly requireCertificate: boolean;
}

/** The answer to `listListeners`, with the ids of commercial brokers: 2.1 tells none. */
export const listenerList = (listeners: readonly ToldListener[]) => ({
  listeners: listeners.map(({ number, port, protocol, host, tls, requireCertificate }) => ({
    id: number,
    port,
    protocol: protocol === 'MQTT' ? 'mqtt' : 'mqtt+websockets',
    'bind-address': host,
    tls,
    'require-certificate': requireCertificate,
  })),
});
