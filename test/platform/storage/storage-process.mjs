/**
 * A process of its own that opens the real storage, for tests that need two processes or kill one.
 *
 *   node storage-process.mjs hold  DATA_DIR [DATABASE_URL]   prints `{"migrated":[…]}` and waits
 *   node storage-process.mjs write DATA_DIR [DATABASE_URL]   the same, then writes rows and prints each stored id
 *
 * Lines are written synchronously, so a line that was begun is out before the next thing can happen.
 */
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import pino from 'pino';
import { openStorage } from '../../../src/platform/storage/storage.ts';

const WRITERS = 4;
const [mode, dataDir, databaseUrl] = process.argv.slice(2);
const say = (line) => writeSync(1, `${line}\n`);

const { db, migrated } = await openStorage({ dataDir, databaseUrl, log: pino({ level: 'silent' }) });
say(JSON.stringify({ migrated }));
if (mode === 'hold') process.stdin.resume();
else await Promise.all(Array.from({ length: WRITERS }, (_, writer) => writeForever(writer)));

/** Every other writer uses transactions, some of which it undoes. */
async function writeForever(writer) {
  for (let count = 0; ; count++) {
    const id = randomUUID();
    const data = { id, name: `writer ${writer}`, email: `${id}@example.org` };
    if (writer % 2 === 0) {
      await db.user.create({ data });
      say(id);
    } else {
      const undo = count % 3 === 0;
      await db
        .$transaction(async (tx) => {
          await tx.user.create({ data });
          if (undo) throw new Error('undo');
        })
        .then(
          () => say(id),
          (error) => {
            if (!undo) throw error;
          },
        );
    }
  }
}
