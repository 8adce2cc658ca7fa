/**
 * A process of its own that appends to the logs `a` and `b` of a store for ever, to be killed:
 *
 *   node append-process.mjs FOLDER   begins when it reads a number, says how many messages there are, then the number of each one that it
 *                                    was told is stored
 *
 * Numbers begin at the one that it reads. Segments are small, so that it is killed while one follows the other, too. Lines are written synchronously,
 * so a line that was begun is out before the next thing can happen.
 */
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { SegmentStore } from '../../../../dist/domains/streams/store/segment-store.js';

const [folder] = process.argv.slice(2);
const say = (line) => writeSync(1, `${line}\n`);
const onProblem = (streamId, reason) => say(`problem ${streamId} ${reason}`);
const [start] = await once(process.stdin, 'data');
const store = new SegmentStore({ folder, maxBytes: 2 ** 30, segmentBytes: 200_000, onProblem });
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
