/**
 * A process that opens the queues of a bridge, which carries over what an earlier version has stored:
 *
 *   node open-process.mjs FOLDER [DATABASE_URL]   prints `begins`, and `done` when they are open
 */
import { writeSync } from 'node:fs';
import { postgresqlQueues } from '../../../../src/data-plane/bridges/queue/postgresql-queues.ts';
import { sqliteQueues } from '../../../../src/data-plane/bridges/queue/sqlite-queues.ts';
import { LogDatabase } from '../../../../src/data-plane/log/postgresql/postgresql-logs.ts';

const [folder, databaseUrl] = process.argv.slice(2);
const place = { brokerId: 'brk_1', bridgeId: 'mqtt-bridge', storage: undefined, folder };
const nothing = () => undefined;
const store =
  databaseUrl === undefined
    ? sqliteQueues('queues of plant/webhook-bridge', folder, undefined)
    : postgresqlQueues({ ...place, database: new LogDatabase({ databaseUrl, onProblem: nothing, onLost: nothing }) });
writeSync(1, 'begins\n');
await store.open('test');
writeSync(1, 'done\n');
process.exit(0);
