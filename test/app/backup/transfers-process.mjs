/**
 * Writes to an SQLite file until it is killed, as the files of messages are written: with an exclusive lock and a log.
 *
 *   node transfers-process.mjs FILE   prints the number of each committed transaction
 *
 * Each transaction moves amounts between accounts, so the sum of all remains 0, and writes its number to `number`.
 */
import { writeSync } from 'node:fs';
import Database from 'better-sqlite3';

const ACCOUNTS = 8_000;
const db = new Database(process.argv[2]);
db.pragma('locking_mode = EXCLUSIVE');
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.pragma('wal_autocheckpoint = 256');
db.exec(`CREATE TABLE number (value INTEGER); INSERT INTO number VALUES (0);
  CREATE TABLE account (id INTEGER PRIMARY KEY, amount INTEGER, filler BLOB)`);
db.prepare(`WITH RECURSIVE ids(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < ?)
  INSERT INTO account SELECT id, 0, zeroblob(1000) FROM ids`).run(ACCOUNTS);
const add = db.prepare('UPDATE account SET amount = amount + ? WHERE id = ?');
const count = db.prepare('UPDATE number SET value = ?');
const any = () => 1 + Math.floor(Math.random() * ACCOUNTS);
const transfer = db.transaction((number) => {
  add.run(1, any());
  add.run(-1, any());
  count.run(number);
});
for (let number = 1; ; number++) {
  transfer(number);
  writeSync(1, `${number}\n`);
}
