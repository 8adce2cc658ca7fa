import type { MqttClient } from 'mqtt';
import { onTestFinished } from 'vitest';
import {
  MqttStreamSession,
  type StreamSessionOptions,
} from '../../../../src/data-plane/streams/hosting/mqtt-stream-session.ts';
import type { ServiceError } from '../../../../src/platform/errors.ts';
import { reached } from '../../../support/link.ts';

/** The session that streams have with a broker, connected; closed when the test ends. */
export async function connectedSession(
  options: Partial<StreamSessionOptions> & { readonly url: string },
): Promise<MqttStreamSession> {
  const session = new MqttStreamSession({
    id: 'test',
    clientId: 'brokergraph-test-streams',
    timeoutMs: 30_000,
    onFault: (error: ServiceError | unknown) => {
      throw error;
    },
    ...options,
  });
  onTestFinished(() => session.close({ discard: true }));
  session.open();
  await reached(session, 'CONNECTED');
  return session;
}

interface Arrived {
  readonly topic: string;
  readonly payload: string;
  readonly qos: number;
  readonly retain: boolean;
  readonly at: number;
}

/** What a client gets on a filter, in the order of arrival. */
export class Arrivals {
  readonly all: Arrived[] = [];
  #waiting: (() => void)[] = [];

  static async of(client: MqttClient, filter: string): Promise<Arrivals> {
    const arrivals = new Arrivals();
    client.on('message', (topic, payload, { qos, retain }) => {
      arrivals.all.push({ topic, payload: String(payload), qos, retain, at: performance.now() });
      for (const check of arrivals.#waiting) check();
    });
    await client.subscribeAsync(filter, { qos: 2 });
    return arrivals;
  }

  get payloads(): string[] {
    return this.all.map(({ payload }) => payload);
  }

  /** Resolves with all when there are so many, or when they are as described. */
  until(is: number | ((all: readonly Arrived[]) => boolean)): Promise<readonly Arrived[]> {
    const isThere = typeof is === 'number' ? () => this.all.length >= is : () => is(this.all);
    if (isThere()) return Promise.resolve(this.all);
    return new Promise((resolve) => {
      const check = () => {
        if (!isThere()) return;
        this.#waiting = this.#waiting.filter((other) => other !== check);
        resolve(this.all);
      };
      this.#waiting.push(check);
    });
  }
}
