import type { MqttClient } from 'mqtt';
import { control } from './embedded.ts';

const API = 'stream-processing';

/** What `{ error }` or `data` a command of streams is answered with. */
export async function stream(
  client: MqttClient,
  command: string,
  fields: object = {},
): Promise<Record<string, unknown>> {
  const [answer] = await control(client, API, { commands: [{ command, ...fields }] });
  return answer ?? {};
}

/** As `stream`; a refusal is an error. */
export async function streamDone<T = unknown>(client: MqttClient, command: string, fields: object = {}): Promise<T> {
  const { error, data } = await stream(client, command, fields);
  if (error !== undefined) throw new Error(`${command}: ${String(error)}`);
  return data as T;
}

export const storedCount = async (client: MqttClient, streamname: string): Promise<number> =>
  (await streamDone<{ count: number }>(client, 'getStreamMessageCount', { streamname })).count;
