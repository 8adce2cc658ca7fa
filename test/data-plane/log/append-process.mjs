/**
 * A process that appends to the logs `a` and `b` of a store until it is killed:
 *
 *   node append-process.mjs FOLDER   starts when it reads a number, prints the number of stored messages, then each
 *                                    number that is reported as stored
 *
 * Numbers start at the one that it reads.  Lines are written
 * synchronously, so each line is complete before the next step.
 */
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { sqliteLogs } from '../../../src/data-plane/log/sqlite/sqlite-logs.ts';

const [folder] = process.argv.slice(2);
const say = (line) => writeSync(1, `${line}\n`);
const onProblem = (streamId, reason) => say(`problem ${streamId} ${reason}`);
const [start] = await once(process.stdin, 'data');
const store = sqliteLogs({ folder, maxBytes: 2 ** 30, onProblem });
let next = Number(start);
const always = { from: null, to: null };
say(`found ${store.log('a').count(always) + store.log('b').count(always)}`);

for (;;) {
  const answers = [];
  for (let many = Math.ceil(Math.random() ** 3 * 100); many > 0; many--) {
    const number = next++;
    const log = store.log(number % 2 === 0 ? 'a' : 'b');
    const payload = `${number}:${String(number % 10).repeat(number % 1_000)}`;
    answers.push(
      new Promise((resolve) => {
        log.append({ topic: `t/${number}`, payload, qos: 1 }, (problem) => {
          say(problem === null ? number : `problem ${problem}`);
          resolve();
        });
      }),
    );
  }
  await Promise.all(answers);
}
