import { randomOf } from '../clients/truth/random.ts';
import { dialMqtt, type RawClient } from '../clients/truth/raw-client.ts';

interface StepsOptions {
  readonly port: number;
  readonly clients: number;
  readonly steps: number;
  readonly seed: number;
}

/** Clients that connect, disconnect, vanish and take over at random. Returns the events of each, oldest first. */
export async function takeRandomSteps({ port, clients, steps, seed }: StepsOptions): Promise<Map<string, string[]>> {
  const all = new Map<string, string[]>();
  const one = async (number: number) => {
    const random = randomOf(seed * 1_000_003 + number);
    const clientId = `device-${number}`;
    const expected: string[] = [];
    all.set(clientId, expected);
    const dial = async () => {
      const protocolVersion = random.pick([4, 5] as const);
      const options = { port, clientId, account: null, protocolVersion, clean: random.chance(0.5), keepalive: 600 };
      const client = await dialMqtt({ ...options, expirySeconds: 600 });
      expected.push('CONNECTED');
      return client;
    };
    let client: RawClient | null = null;
    for (let step = 0; step < steps; step += 1) {
      const dice = random.below(3);
      if (client === null) client = await dial();
      else if (dice === 0) {
        const { closed } = client;
        expected.push('TAKEN_OVER');
        client = await dial();
        await closed;
      } else {
        if (dice === 1) await client.disconnect();
        else client.destroy();
        expected.push(dice === 1 ? 'CLIENT_DISCONNECTED' : 'CONNECTION_CLOSED');
        client = null;
      }
    }
    if (client !== null) await client.disconnect();
    if (client !== null) expected.push('CLIENT_DISCONNECTED');
  };
  const numbers = Array.from({ length: clients }, (_, number) => number);
  const worker = async () => {
    for (let next = numbers.pop(); next !== undefined; next = numbers.pop()) await one(next);
  };
  await Promise.all(Array.from({ length: 20 }, worker));
  return all;
}
