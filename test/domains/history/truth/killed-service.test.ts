import { test } from 'vitest';
import { useSqlite } from '../../../support/database.ts';
import { checkRecord } from './check-record.ts';
import { recordedMosquitto } from './recorded-broker.ts';

test('after kill -9 of the service, what clients of Mosquitto did is an event or in a stated gap', async () => {
  useSqlite();
  const broker = await recordedMosquitto();
  await checkRecord(broker, { clients: 25, seconds: 4, faults: [broker.killService] });
});
