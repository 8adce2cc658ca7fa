/** One request at a time on one connection each for as many roads as are compared: the times are what one user waits. */
import { Agent, request } from 'node:http';

export interface Asked {
  readonly url: string;
  /** POST with this; without: GET. */
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

/** Every road once per turn, so that what else the machine does hits all alike. Answers the sorted times of each. */
export async function inTurns(
  ask: Ask,
  roads: Readonly<Record<string, (value: string) => Asked>>,
  filterAt: (turn: number) => string,
  requests: number,
): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>(Object.keys(roads).map((road) => [road, []]));
  for (let turn = -50; turn < requests; turn++) {
    let shift = 0;
    for (const [road, asked] of Object.entries(roads)) {
      // Roads of the product share its memory of filters: none may find there what another has just asked for.
      const { milliseconds } = await ask(asked(filterAt(turn + 256 + shift)));
      shift += 64;
      if (turn >= 0) times.get(road)?.push(milliseconds);
    }
  }
  for (const each of times.values()) each.sort((a, b) => a - b);
  return times;
}

export function at(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
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
