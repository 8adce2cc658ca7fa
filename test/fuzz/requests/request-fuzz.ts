import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import WebSocket from 'ws';
import { ERROR_STATUS } from '../../../src/platform/errors.ts';
import { bearer, type TestService } from '../../support/service.ts';
import { Random } from '../random.ts';
import { type FuzzWorld, furnish, startFuzzService } from './fuzz-world.ts';
import { type GraphqlRequest, graphqlRequest } from './graphql-requests.ts';
import { type RestRequest, restRequest } from './rest-requests.ts';

interface RequestFuzzOptions {
  readonly seed: number;
  readonly count: number;
  /** Number of concurrent requests. Default: 8. */
  readonly atOnce?: number;
}

interface RequestFuzzReport {
  readonly requests: number;
  /** Number of responses by HTTP status. WebSocket operations are counted as `ws`. */
  readonly statuses: ReadonlyMap<string, number>;
  /** Faults with the request that caused them, at most 20. */
  readonly faults: readonly string[];
  /** Longest stall of the event loop in milliseconds. The service and this test run in one process. */
  readonly longestStallMs: number;
  /** The requests in progress during the longest stall. */
  readonly duringLongestStall: readonly string[];
}

/** Number of requests after which all objects and callers are created again: requests delete some of them. */
const REFURNISH_AFTER = 200;
/** Further faults are not listed, because they are usually repetitions. */
const MAX_FAULTS = 20;
/** A response that takes longer is a fault. A request to an unreachable broker takes BROKER_TIMEOUT_MS. */
const MAX_RESPONSE_MS = 60_000;

/** Sends requests generated from the schema and the route table, as callers of all kinds, and checks each response. */
export async function fuzzRequests({ seed, count, atOnce = 8 }: RequestFuzzOptions): Promise<RequestFuzzReport> {
  const faults: string[] = [];
  const fault = (text: string) => {
    if (faults.length < MAX_FAULTS) faults.push(text);
  };
  const service = await startFuzzService({ env: { BROKER_TIMEOUT_MS: '300' }, log: errorLog(fault) });
  const statuses = new Map<string, number>();
  const underWay = new Set<string>();
  const stalls = watchStalls(underWay);
  for (let from = 0; from < count; from += REFURNISH_AFTER) {
    const world = await furnish(service);
    let nth = from;
    const worker = async () => {
      while (nth < Math.min(count, from + REFURNISH_AFTER)) {
        const number = nth;
        nth += 1;
        const status = await sendOne(service, world, { seed, number, underWay, fault });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
  }
  return { requests: count, statuses, faults, ...stalls.end() };
}

interface Sending {
  readonly seed: number;
  readonly number: number;
  readonly underWay: Set<string>;
  readonly fault: (text: string) => void;
}

/** Sends the request that `seed` and `number` determine, and returns its status. */
async function sendOne(service: TestService, world: FuzzWorld, sending: Sending): Promise<string> {
  const { seed, number } = sending;
  const random = new Random(seed * 1_000_003 + number);
  const [caller, token] = random.pick([...world.callers]);
  const isRest = random.chance(0.4);
  const request = isRest ? restRequest(random, world.known, number) : graphqlRequest(random, world.known, number);
  return sendRequest(service, token, request, { ...sending, random, caller });
}

/** Sends a request and checks its response. Returns its status. */
export async function sendRequest(
  service: TestService,
  token: string | null,
  request: GraphqlRequest | RestRequest,
  { seed, number, underWay, fault, random, caller }: Sending & { readonly random: Random; readonly caller: string },
): Promise<string> {
  const isOverWebSocket = 'query' in request && (request.kind === 'subscription' || random.chance(0.05));
  const title = `seed ${seed}, request ${number}, as ${caller}: ${JSON.stringify(request).slice(0, 2_000)}`;
  underWay.add(title);
  try {
    if (isOverWebSocket) {
      const problem = await overWebSocket(service, token, request, random.int(0, 20));
      if (problem !== null) fault(`${problem}: ${title}`);
      return 'ws';
    }
    const response = await ('query' in request
      ? postGraphql(service, token, request)
      : sendRest(service, token, request));
    const text = await response.text();
    const problem = problemOf(response.status, text) ?? ('query' in request ? untypedError(text) : null);
    if (problem !== null) fault(`${problem}: ${title}`);
    return String(response.status);
  } catch (error) {
    fault(`no response (${error}): ${title}`);
    return 'none';
  } finally {
    underWay.delete(title);
  }
}

function sendRest(
  { url }: TestService,
  token: string | null,
  { method, path, headers, body }: RestRequest,
): Promise<Response> {
  return fetch(`${url}${path}`, {
    method,
    headers: { ...headers, ...bearer(token) },
    signal: AbortSignal.timeout(MAX_RESPONSE_MS),
    ...(body !== undefined && { body }),
  });
}

function postGraphql(
  { url }: TestService,
  token: string | null,
  { query, variables }: GraphqlRequest,
): Promise<Response> {
  return fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...bearer(token) },
    body: JSON.stringify({ query, variables }),
    signal: AbortSignal.timeout(MAX_RESPONSE_MS),
  });
}

const problemOf = (status: number, text: string): string | null =>
  status === 500 || text.includes('INTERNAL_ERROR') ? `status ${status} ${text.slice(0, 500)}` : null;

/** Reports an error without a documented code. */
function untypedError(text: string): string | null {
  const { errors = [] } = JSON.parse(text) as { errors?: readonly { extensions?: { code?: string } }[] };
  const untyped = errors.find(({ extensions }) => !Object.hasOwn(ERROR_STATUS, extensions?.code ?? ''));
  return untyped ? `error without a documented code: ${JSON.stringify(untyped)}` : null;
}

/** Subscribes, reads the first events and closes the connection, sometimes before the first event. */
async function overWebSocket(
  { url }: TestService,
  token: string | null,
  { query, variables }: GraphqlRequest,
  waitMs: number,
): Promise<string | null> {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/graphql`, 'graphql-transport-ws');
  let problem: string | null = null;
  const isOver = new Promise<void>((resolve) => {
    socket.on('message', (data) => {
      const text = String(data);
      if (text.includes('INTERNAL_ERROR')) problem = text.slice(0, 500);
      if (text.includes('"type":"connection_ack"')) {
        socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query, variables } }));
        setTimeout(resolve, waitMs);
      } else resolve();
    });
    socket.on('close', () => resolve());
    socket.on('error', () => resolve());
  });
  socket.on('open', () => {
    const payload = token === null ? {} : { authorization: `Bearer ${token}` };
    socket.send(JSON.stringify({ type: 'connection_init', payload }));
  });
  await isOver;
  if (socket.readyState !== WebSocket.CLOSED) {
    const closed = once(socket, 'close');
    socket.terminate();
    await closed;
  }
  return problem;
}

/** A log that reports each error as a fault. */
export const errorLog = (fault: (text: string) => void) =>
  pino(
    { level: 'error' },
    new Writable({
      write: (line, _encoding, done) => {
        fault(`logged: ${String(line).slice(0, 2_000)}`);
        done();
      },
    }),
  );

const BEAT_MS = 20;

/**
 * Milliseconds of processor time that the main thread has used (Linux). Stalls are counted in it, because a busy
 * machine takes the processor away from a service that does nothing wrong.
 */
const mainThreadMs = (): number =>
  Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

function watchStalls(underWay: ReadonlySet<string>) {
  let longestStallMs = 0;
  let duringLongestStall: readonly string[] = [];
  let before = performance.now();
  let usedBefore = mainThreadMs();
  const timer = setInterval(() => {
    const now = performance.now();
    const used = mainThreadMs();
    const stall = Math.min(now - before - BEAT_MS, used - usedBefore);
    if (stall > longestStallMs) {
      longestStallMs = Math.round(stall);
      duringLongestStall = [...underWay];
    }
    before = now;
    usedBefore = used;
  }, BEAT_MS);
  return {
    end: () => {
      clearInterval(timer);
      return { longestStallMs, duringLongestStall };
    },
  };
}
