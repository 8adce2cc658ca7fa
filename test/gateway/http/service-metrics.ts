import { send } from './requests.ts';

/** Value of one metric of a service, by name and labels in the text format. */
export async function metric(port: number, name: string): Promise<number> {
  const { text } = await send(port, '/metrics');
  const line = text.split('\n').find((each) => each.startsWith(`brokergraph_${name} `));
  return Number(line?.split(' ').at(-1) ?? Number.NaN);
}

export const requestBytes = (port: number) => metric(port, 'http_bytes{direction="request"}');
export const responseBytes = (port: number) => metric(port, 'http_bytes{direction="response"}');
