/** Sends one request at a time, so that the measured time is the time that one user waits. */
import { Agent, request } from 'node:http';

export interface Asked {
  readonly url: string;
  /** Body of a POST request. Default: a GET request. */
  readonly body?: string;
}

interface Answer {
  readonly text: string;
  readonly milliseconds: number;
}

type Ask = (asked: Asked) => Promise<Answer>;

export function startAsking(headers: Record<string, string>): { readonly ask: Ask; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return { ask: (asked) => answerOf(asked, headers, agent), close: () => agent.destroy() };
}

/** Sends one request of each variant per turn, so that other load affects all. Returns the sorted times by variant. */
export async function inTurns(
  ask: Ask,
  variants: Readonly<Record<string, (value: string) => Asked>>,
  filterAt: (turn: number) => string,
  requests: number,
): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>(Object.keys(variants).map((name) => [name, []]));
  for (let turn = -50; turn < requests; turn++) {
    let shift = 0;
    for (const [name, asked] of Object.entries(variants)) {
      // Each variant has a different filter, because the product caches the filters of all variants.
      const { milliseconds } = await ask(asked(filterAt(turn + 256 + shift)));
      shift += 64;
      if (turn >= 0) times.get(name)?.push(milliseconds);
    }
  }
  for (const each of times.values()) each.sort((a, b) => a - b);
  return times;
}

function answerOf({ url, body }: Asked, headers: Record<string, string>, agent: Agent): Promise<Answer> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method: body === undefined ? 'GET' : 'POST', headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode !== 200 || text.includes('"errors"')) reject(new Error(text.slice(0, 500)));
        else resolve({ text, milliseconds: performance.now() - started });
      });
    });
    sent.once('error', reject);
    sent.end(body);
  });
}
