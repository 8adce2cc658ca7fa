import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { generate } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import { passwordFile } from '../../../../src/engines/cloud-brokers/cloud-brokers.ts';
import { bearer, startTestService, type TestService } from '../../../support/service.ts';
import { subscribe } from '../../../support/subscription.ts';
import { isLong } from '../../../support/suite.ts';

const WATCH = 'subscription ($id: ID!) { connectedClients(brokerId: $id) { kind removed clients { clientId } } }';
/** CONNECTs under way at once. */
const CONCURRENCY = 50;

interface Plant {
  readonly service: TestService;
  readonly brokerId: string;
  readonly inspect: string;
  /** Bare connections: a thousand whole clients would be most of the test. */
  join(ids: readonly string[]): Promise<Socket[]>;
}

async function startPlant(): Promise<Plant> {
  const service = await startTestService({ embeddedBroker: true });
  const { id, url } = await service.storage.db.broker.findFirstOrThrow();
  const password = readFileSync(passwordFile(service.config.dataDir, id));
  const port = Number(new URL(url ?? '').port);
  return {
    service,
    brokerId: id,
    inspect: `/api/projects/${service.projectId}/brokers/${id}/client-inspect`,
    async join(ids) {
      const sockets: Socket[] = [];
      const waiting = [...ids];
      await Promise.all(
        Array.from({ length: CONCURRENCY }, async () => {
          for (let clientId = waiting.pop(); clientId !== undefined; clientId = waiting.pop()) {
            sockets.push(await joined(port, clientId, password));
          }
        }),
      );
      return sockets;
    },
  };
}

async function joined(port: number, clientId: string, password: Buffer): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write(generate({ cmd: 'connect', clientId, username: 'admin', password, clean: true, keepalive: 0 }));
  const [connack] = await once(socket, 'data');
  expect([...connack]).toEqual([0x20, 2, 0, 0]);
  socket.on('error', () => undefined);
  return socket;
}

const idsOf = (clients: readonly { readonly clientid: string }[]) => clients.map(({ clientid }) => clientid);
const number = (value: number) => String(value).padStart(5, '0');

test('count=-1 lists every client that stays exactly once while others connect and disconnect, and the true list afterwards', async () => {
  const plant = await startPlant();
  const { service, inspect, brokerId } = plant;
  const staying = Array.from({ length: 1_050 }, (_, i) => `stays-${number(i)}`);
  // Ids all over the order, so that pages move while they are read.
  const passing = Array.from({ length: 20 }, (_, i) => `stays-${number(i * 52)}-passes`);
  await plant.join(staying);
  const [gateway = ''] = idsOf((await service.rest('GET', `${inspect}?count=-1`)).body).filter(
    (id) => !id.startsWith('stays-'),
  );

  let isOver = false;
  const traffic = (async () => {
    while (!isOver) for (const socket of await plant.join(passing)) socket.destroy();
  })();
  const known = new Set([...staying, ...passing, gateway]);
  for (let turn = 0; turn < (isLong ? 10 : 4); turn++) {
    const ids = idsOf((await service.rest('GET', `${inspect}?count=-1`)).body);
    expect(ids).toEqual([...new Set(ids)].sort());
    expect(ids.filter((id) => !id.endsWith('-passes'))).toEqual([...staying, gateway].sort());
    expect(ids.filter((id) => !known.has(id))).toEqual([]);
  }
  isOver = true;
  await traffic;

  const present = new Set<string>();
  const events = subscribe(service, service.root, WATCH, { id: brokerId });
  await events.until(({ connectedClients: { clients, removed } }) => {
    for (const { clientId } of clients ?? []) present.add(clientId);
    for (const clientId of removed ?? []) present.delete(clientId);
    return present.size === staying.length + 1;
  });
  events.end();
  const { body, headers } = await service.rest('GET', `${inspect}?count=-1`);
  expect(idsOf(body)).toEqual([...staying, gateway].sort());
  expect(headers.get('x-total-count')).toBe(String(staying.length + 1));
});

test('a slow reader of count=-1 makes the service buffer one page, not the list: it receives clients that connected meanwhile', async () => {
  const plant = await startPlant();
  const { service, inspect } = plant;
  // The first of two pages has 8 MB, which is more than the buffers of sockets take.
  const long = 'x'.repeat(8_000);
  const ids = Array.from({ length: 1_100 }, (_, i) => `${number(i)}-${long}`);
  await plant.join(ids);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${service.url}${inspect}?count=-1`, { headers: bearer(service.root) }, resolve).once('error', reject);
  });
  expect(response.statusCode).toBe(200);

  const late = `99999-${long}`;
  await plant.join([late]);
  // Other requests are served meanwhile, so a service that buffers the list would have read all of it by now.
  let isKnown = false;
  for (let turn = 0; turn < 15 || !isKnown; turn++) {
    const { body } = await service.rest('GET', `${inspect}?count=50&filterValue=99999-`);
    isKnown = body.length === 1;
  }

  let text = '';
  for await (const chunk of response) text += chunk;
  const told = idsOf(JSON.parse(text));
  expect(told.filter((id) => ids.includes(id))).toEqual(ids);
  expect(told).toContain(late);
});
