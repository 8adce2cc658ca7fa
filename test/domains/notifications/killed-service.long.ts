import { setTimeout as delay } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { useSqlite } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startRelay } from '../../support/relay.ts';
import { startServiceProcess } from '../../support/service-process.ts';
import { randomOf } from '../clients/truth/random.ts';
import { SECRET, startReceiver } from './notification-world.ts';

const KILLS = Number(process.env.KILLS ?? 20);
/** A failed message is sent again after at most five minutes. */
const timeout = KILLS * 60_000 + 900_000;

const CREATE = `mutation ($input: CreateNotificationChannelInput!) {
  createNotificationChannel(input: $input) { notificationChannel { id } } }`;
const ADD = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
const PROBLEMS = `query ($isOpen: Boolean!) { problems(first: 1000, filter: { kinds: [BROKER_UNREACHABLE], isOpen: $isOpen }) {
  nodes { id broker { name } } } }`;
const PENDING = `query ($id: ID!) { notificationChannels(projectId: $id) { deliveries(state: PENDING) { totalCount } } }`;

interface Problem {
  readonly id: string;
  readonly broker: { readonly name: string };
}

interface Change {
  readonly change: 'OPENED' | 'CLOSED';
  readonly id: string;
}

test('each opening and closing arrives, in order, although service and receiver fail', { timeout }, async () => {
  useSqlite();
  const seed = Number(process.env.TRUTH_SEED ?? Date.now() % 1_000_000);
  const random = randomOf(seed);
  const [receiver, mosquitto] = await Promise.all([startReceiver(), startMosquitto()]);
  const service = await startServiceProcess({ BROKER_ALLOWED_HOSTS: '*,127.0.0.0/8' });
  const { projectId } = service;
  const target = { webhook: { url: receiver.url, secret: SECRET } };
  await service.graphql(CREATE, {
    input: { projectId, name: 'c', rules: { kinds: ['BROKER_UNREACHABLE'] }, target },
  });

  const unverified: string[] = [];
  const modes = {
    down: () => receiver.stop(),
    // Longer than the service waits, or not.
    slow: (response: Parameters<typeof receiver.respond>[0]) =>
      void delay(random.below(20_000)).then(() => response.writeHead(204).end()),
    failing: (response: Parameters<typeof receiver.respond>[0]) => void response.writeHead(500).end(),
    well: (response: Parameters<typeof receiver.respond>[0]) => void response.writeHead(204).end(),
  };
  const become = async (mode: keyof typeof modes) => {
    await receiver.stop();
    if (mode === 'down') return;
    receiver.respond = (response, { text, headers }) => {
      try {
        new Webhook(SECRET).verify(text, headers as Record<string, string>);
      } catch (error) {
        unverified.push(String(error));
      }
      modes[mode](response);
    };
    await receiver.start();
  };

  const away: number[] = [];
  const opens = async () => {
    const port = await freePort();
    away.push(port);
    const input = { projectId, name: `broker ${port}`, url: `mqtt://127.0.0.1:${port}` };
    await service.graphql(ADD, { input });
  };
  const closes = async (ports: readonly number[]) => {
    const port = ports[random.below(ports.length)];
    if (port === undefined) return;
    away.splice(away.indexOf(port), 1);
    await startRelay(mosquitto.port, { at: port });
  };
  /** A broker that is reachable before its problem opens has none. */
  const withProblem = async () => {
    const names = new Set((await problemsOf(true)).map(({ broker }) => broker.name));
    return away.filter((port) => names.has(`broker ${port}`));
  };
  for (let kill = 0; kill < KILLS; kill += 1) {
    await become(random.pick(['down', 'slow', 'failing', 'well']));
    await opens();
    if (random.chance(0.5)) await closes(await withProblem());
    // Sometimes the service is killed before it notices.
    await delay(random.below(4_000));
    await service.kill();
    await service.start();
  }
  await expect.poll(countAll, { timeout: 300_000 }).toBe(KILLS);
  await become('well');
  while (away.length > 0) await closes(away);
  await expect.poll(() => problemsOf(true), { timeout: 300_000 }).toEqual([]);
  const waiting = async () => {
    const { notificationChannels } = await service.graphql(PENDING, { id: projectId });
    return notificationChannels[0].deliveries.totalCount;
  };
  await expect.poll(waiting, { timeout: 600_000, interval: 1_000 }).toBe(0);

  const ids = (await problemsOf(false)).map(({ id }) => id);
  const arrived = receiver.requests.flatMap(({ body }): Change[] => body.data.problems ?? [body.data]);
  const textOf = ({ change, id }: Change) => `${change} ${id}`;
  const first = [...new Set(arrived.map(textOf))];
  console.log(
    `TRUTH_SEED=${seed}: ${KILLS} kills, ${ids.length} problems, ${receiver.requests.length} requests with ${arrived.length} changes, ${first.length} different ones`,
  );
  expect([...first].sort()).toEqual(ids.flatMap((id) => [`CLOSED ${id}`, `OPENED ${id}`]).sort());
  for (const id of ids) expect(first.indexOf(`OPENED ${id}`)).toBeLessThan(first.indexOf(`CLOSED ${id}`));
  expect(unverified).toEqual([]);

  async function problemsOf(isOpen: boolean): Promise<readonly Problem[]> {
    return (await service.graphql(PROBLEMS, { isOpen })).problems.nodes;
  }

  async function countAll(): Promise<number> {
    return (await problemsOf(true)).length + (await problemsOf(false)).length;
  }
});
