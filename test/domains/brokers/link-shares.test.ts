import { pino } from 'pino';
import { expect, test } from 'vitest';
import { LinkShares } from '../../../src/domains/brokers/link-shares.ts';
import { freePort } from '../../support/free-port.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';

const claimOf = (id: string, projectId: string, owner = projectId, isOwn = false) => ({ id, projectId, owner, isOwn });

test('owners have equal shares, and projects within them; the link that is down for the longest time is taken', () => {
  const down = new Map<string, number>();
  const shares = new LinkShares(4, (id) => down.get(id) ?? 0);
  for (const id of ['a1', 'a2', 'a3']) expect(shares.claim(claimOf(id, 'p', 'A')).isGranted).toBe(true);
  expect(shares.claim(claimOf('a4', 'q', 'A'))).toEqual({ isGranted: true, evicted: null });
  // Of one owner: the second project has less than half.
  expect(shares.claim(claimOf('a5', 'q', 'A'))).toEqual({ isGranted: true, evicted: 'a3' });
  expect(shares.claim(claimOf('a6', 'q', 'A'))).toEqual({ isGranted: false, evicted: null });
  down.set('a1', 10).set('a2', 20);
  expect(shares.claim(claimOf('b1', 'r', 'B'))).toEqual({ isGranted: true, evicted: 'a2' });
  expect(shares.claim(claimOf('b2', 'r', 'B'))).toEqual({ isGranted: true, evicted: 'a5' });
  expect(shares.claim(claimOf('b3', 'r', 'B')).isGranted).toBe(false);
  expect(shares.claim(claimOf('c1', 's', 'C'))).toMatchObject({ isGranted: true });
  // A broker that the service runs gets one in any case, and keeps it.
  expect(shares.claim(claimOf('own', 'r', 'B', true))).toMatchObject({ isGranted: true, evicted: expect.any(String) });
  expect(shares.holds('own')).toBe(true);
});

test('a free link goes to the owner with the fewest links', () => {
  const shares = new LinkShares(2, () => 0);
  shares.claim(claimOf('a1', 'A'));
  shares.claim(claimOf('b1', 'B'));
  expect(shares.claim(claimOf('b2', 'B')).isGranted).toBe(false);
  expect(shares.claim(claimOf('a2', 'A')).isGranted).toBe(false);
  expect(shares.release('a2')).toBeNull();
  expect(shares.claim(claimOf('a3', 'A')).isGranted).toBe(false);
  expect(shares.release('a1')).toBe('a3');
  expect(shares.release('unknown')).toBeNull();
});

test('after any claims and releases the links never exceed the bound, and no owner has two more than a waiting one', () => {
  let state = 7;
  const below = (limit: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % limit;
  };
  const shares = new LinkShares(10, (id) => (id.endsWith('1') ? 5 : 0));
  const claims = new Map<string, ReturnType<typeof claimOf>>();
  for (let step = 0; step < 600; step += 1) {
    const id = `b${below(60)}`;
    if (below(3) === 0) {
      claims.delete(id);
      shares.release(id);
    } else if (!claims.has(id)) {
      const owner = `o${below(4)}`;
      const claim = claimOf(id, `${owner}/${below(3)}`, owner);
      claims.set(id, claim);
      shares.claim(claim);
    }
    const held = [...claims.values()].filter((claim) => shares.holds(claim.id));
    expect(held.length).toBe(Math.min(10, claims.size));
    const countOf = (owner: string) => held.filter((claim) => claim.owner === owner).length;
    const waiting = [...claims.values()].filter((claim) => !shares.holds(claim.id));
    expect(shares.hasWaiting).toBe(waiting.length > 0);
    for (const { owner } of waiting) {
      for (const other of ['o0', 'o1', 'o2', 'o3']) expect(countOf(other)).toBeLessThanOrEqual(countOf(owner) + 1);
    }
  }
});

test('dead brokers of one project take no link from the broker of another', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  const service = await startTestService({ log, env: { MAX_BROKER_LINKS: '3' } });
  const { graphql, services } = service;
  const add = async (projectId: string, name: string, url: string) => {
    const { data } = await graphql(
      'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }',
      { input: { projectId, name, url } },
    );
    return data.addBroker.broker.id as string;
  };
  const port = await freePort();
  const dead: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    dead.push(await add(service.projectId, `dead ${count}`, `mqtt://127.0.0.1:${port}`));
  }
  const person = await service.person(null);
  const made = await graphql(
    'mutation { createProject(input: { name: "Other" }) { project { id } } }',
    {},
    person.token,
  );
  const mosquitto = await startMosquitto();
  const alive = await add(made.data.createProject.project.id, 'alive', mosquitto.url);
  await expect.poll(() => services.runtimes.status(alive).state).toBe('CONNECTED');
  const waiting = () =>
    dead.filter((id) => services.runtimes.status(id).lastError?.includes('MAX_BROKER_LINKS')).length;
  await expect.poll(waiting).toBe(3);
  expect(lines.filter((line) => line.startsWith('MAX_BROKER_LINKS is reached'))).toHaveLength(1);
  const { data } = await graphql('query ($id: ID!) { broker(id: $id) { connection { state lastError } } }', {
    id: dead.find((id) => services.runtimes.status(id).lastError?.includes('MAX_BROKER_LINKS')),
  });
  expect(data.broker.connection).toMatchObject({
    state: 'UNREACHABLE',
    lastError: expect.stringContaining('MAX_BROKER_LINKS'),
  });
  await graphql('mutation ($id: ID!) { deleteBroker(input: { brokerId: $id }) { deletedBrokerId } }', { id: alive });
  await expect.poll(waiting).toBe(2);
});
