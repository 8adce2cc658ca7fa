import type { IClientOptions, MqttClient } from 'mqtt';
import { connect, startTestBroker } from '../../data-plane/broker/embedded.ts';
import { startMosquitto } from '../../support/mosquitto.ts';

export interface DynsecBroker {
  readonly url: string;
  /** A client of `username`; without one, a connection without user name. Rejects when it is refused. */
  client(options: IClientOptions): Promise<MqttClient>;
}

/** Brokers with dynamic security whose administrator is ADMIN and where connections without user name are let in. */
export const DYNSEC_BROKERS: readonly { readonly name: string; start(): Promise<DynsecBroker> }[] = [
  {
    name: 'Mosquitto',
    start: async () => {
      const broker = await startMosquitto({ access: 'dynsec', lines: ['allow_anonymous true'] });
      const nobody = { username: undefined, password: undefined };
      return { url: broker.url, client: (options) => broker.client({ ...nobody, ...options } as IClientOptions) };
    },
  },
  {
    name: 'the embedded broker',
    start: async () => {
      const broker = await startTestBroker();
      const nobody = { username: undefined, password: undefined };
      return {
        url: `mqtt://127.0.0.1:${broker.mqttPort}`,
        client: (options) => connect(broker.mqttPort, { ...nobody, ...options } as IClientOptions),
      };
    },
  },
];
