import type { MqttClient } from 'mqtt';
import { control } from './embedded.ts';

export type Command = Readonly<Record<string, unknown>>;

/** Runs commands of dynamic security in one payload and gives the answers. */
export const dynsec = (client: MqttClient, ...commands: readonly Command[]): Promise<Record<string, unknown>[]> =>
  control(client, 'dynamic-security', { commands });

/** As `dynsec`; a refusal is an error. */
export async function dynsecDone(client: MqttClient, ...commands: readonly Command[]): Promise<unknown[]> {
  const answers = await dynsec(client, ...commands);
  const refused = answers.find(({ error }) => error !== undefined);
  if (refused) throw new Error(JSON.stringify(refused));
  return answers.map(({ data }) => data);
}
