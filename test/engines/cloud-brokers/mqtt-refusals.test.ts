import { Writable } from 'node:stream';
import { connectAsync, type IClientOptions } from 'mqtt';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';

const AUDIT = `{ auditEvents(filter: { operation: "connectClient" }, first: 50) {
  totalCount nodes { actorKind via address result code brokerId projectId targetKind targetId after }
} }`;

/** A log whose lines are collected. */
function collected() {
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      for (const line of String(chunk).trim().split('\n')) lines.push(JSON.parse(line));
      done();
    },
  });
  return { lines, log: pino({ level: 'warn' }, stream) };
}

const CODES = { credentials: 5, throttled: 3 } as const;

test('refused log-ins are counted by reason, and a burst causes one log entry at its start, one at its end, and one audit event', async () => {
  const { lines, log } = collected();
  const service = await startTestService({ embeddedBroker: true, log });
  const { mqtt } = service.report;
  if (mqtt === null) throw new Error('the service has no broker');
  const logIn = async (options: IClientOptions): Promise<number> => {
    try {
      const client = await connectAsync(mqtt.url, { reconnectPeriod: 0, ...options }, false);
      await client.endAsync();
      return 0;
    } catch (error) {
      return (error as { code?: number }).code ?? -1;
    }
  };
  const about = (text: string) => lines.filter(({ msg }) => String(msg).includes(text));
  const metric = async (reason: string) => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    return Number(
      new RegExp(`^brokergraph_mqtt_refused_total\\{broker="[^"]+",reason="${reason}"\\} (\\d+)`, 'm').exec(
        text,
      )?.[1] ?? 0,
    );
  };

  // A few are no burst.
  for (let n = 0; n < 3; n += 1) expect(await logIn({ username: 'nobody', password: 'wrong' })).toBe(CODES.credentials);
  await expect.poll(() => metric('credentials')).toBe(3);
  expect((await service.graphql(AUDIT, {}, service.root)).data.auditEvents.totalCount).toBe(0);

  const codes = await Promise.all(
    Array.from({ length: 80 }, (_, n) => logIn({ username: 'admin', password: `guess ${n}` })),
  );

  const throttled = codes.filter((code) => code === CODES.throttled).length;
  expect(throttled).toBeGreaterThan(40);
  await expect.poll(() => metric('throttled')).toBe(throttled);
  await expect.poll(() => metric('credentials')).toBe(3 + 80 - throttled);
  const read = async () => (await service.graphql(AUDIT, {}, service.root)).data.auditEvents;
  await expect.poll(async () => (await read()).totalCount).toBe(1);
  const [entry] = (await read()).nodes;
  expect(entry).toMatchObject({ actorKind: 'NOBODY', via: 'MQTT', address: '127.0.0.1', result: 'REFUSED' });
  expect(entry).toMatchObject({ projectId: service.projectId, after: { count: 20 } });
  expect(about('are failing')).toHaveLength(1);
  expect(about('are failing')[0]).toMatchObject({ address: '127.0.0.1', broker: entry.brokerId });
  expect(JSON.stringify(lines)).not.toContain('guess');

  await service.close();
  expect(about('have stopped failing')).toHaveLength(1);
  expect(about('have stopped failing')[0]).toMatchObject({ count: 83 });
});
