import type { MqttClient } from 'mqtt';

interface Load {
  /** Acknowledged by the broker so far. */
  readonly published: number;
  /** Resolves when so many are. */
  until(published: number): Promise<void>;
  /** Resolves with the number of all of them. */
  end(): Promise<number>;
}

/** Publishes to `plant/<number>`, payload the number, without a pause until it is ended; so many at once. */
export function startLoad(client: MqttClient, atOnce = 50): Load {
  let next = 0;
  let published = 0;
  let isEnded = false;
  let check = () => {};
  const publisher = async () => {
    while (!isEnded) {
      const number = next++;
      await client.publishAsync(`plant/${number}`, String(number), { qos: 1 });
      published += 1;
      check();
    }
  };
  const publishers = Array.from({ length: atOnce }, publisher);
  return {
    get published() {
      return published;
    },
    until: (wanted) =>
      new Promise((resolve) => {
        check = () => {
          if (published >= wanted) resolve();
        };
        check();
      }),
    end: async () => {
      isEnded = true;
      await Promise.all(publishers);
      return published;
    },
  };
}
