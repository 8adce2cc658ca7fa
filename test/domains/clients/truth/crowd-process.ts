/** The process of crowd.ts: runs the members, then sends the true state. Its connections remain until it is killed. */
import type { CrowdMessage, CrowdPlan } from './crowd.ts';
import { CrowdMember } from './crowd-member.ts';
import { Gate } from './gate.ts';
import { randomOf } from './random.ts';

/** Usual client ids, and some that imitate lines of Mosquitto's log. */
const ID_FORMS: readonly ((number: number) => string)[] = [
  (n) => `device-${n}`,
  (n) => `hall ${n % 7} / sensor ${n}`,
  (n) => `größe-${n}-温度-😀`,
  (n) => `quoted "${n}' \\ \``,
  (n) => `a as c${n} (p2, c1, k60, u'admin').`,
  (n) => `$odd/+/#/${n}`,
  (n) => `id${n} 1 more`,
  (n) => `Client ${n} disconnected.`,
  (n) => ` ${n} `,
  (n) => `gateway-${n} [10.0.0.1:1883]`,
];

const tell = (message: CrowdMessage) => process.send?.(message);
process.on('disconnect', () => process.exit(0));

const plan = JSON.parse(process.argv[3] ?? '') as CrowdPlan;
const gate = new Gate(50);
const members = Array.from({ length: plan.count }, (_, number) => {
  const form = ID_FORMS[number % ID_FORMS.length] ?? String;
  // A random sequence per member, so that members are independent of each other's timing.
  const random = randomOf(plan.seed * 100_003 + number);
  return new CrowdMember({ ...plan, clientId: form(number), random, gate });
});
const milliseconds = plan.seconds * 1_000;
const deadline = performance.now() + milliseconds;
setTimeout(() => tell({ kind: 'HALF' }), milliseconds / 2);
try {
  await Promise.all(members.map((member) => member.run(deadline)));
  tell({
    kind: 'QUIET',
    steps: members.reduce((sum, { steps }) => sum + steps, 0),
    truth: members.map((member) => member.truth()).filter((client) => client !== null),
  });
} catch (error) {
  tell({ kind: 'FAILED', text: String(error) });
}
