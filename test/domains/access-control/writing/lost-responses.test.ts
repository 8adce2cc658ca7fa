import { expect, test } from 'vitest';
import type { AccessChange } from '../../../../src/domains/access-control/writing/access-change.ts';
import type { PlannedCommand } from '../../../../src/domains/access-control/writing/access-plan.ts';
import type { SentCommand } from '../../../../src/domains/access-control/writing/lost-responses.ts';
import { PolicyDraft } from '../../../../src/domains/access-control/writing/policy-draft.ts';
import { judge, planChanges } from '../at-once.ts';
import { MOSQUITTO_2_1 } from '../dialects.ts';
import { policyOf, rule } from '../policy/policy-builder.ts';
import { at } from './written-access.ts';

const WORLD = policyOf({
  roles: { r: ['send a', 'send b'], s: [] },
  groups: { g: [] },
  clients: { ann: { roles: ['r'] }, bob: {} },
});

function commandsOf(...changes: AccessChange[]): PlannedCommand[] {
  const plan = planChanges(WORLD, MOSQUITTO_2_1, changes, { gatewayUsername: null });
  return plan.changes.flatMap(({ commands }) => commands);
}

/** What the broker has after these commands. */
function after(...commands: readonly PlannedCommand[]) {
  const draft = new PolicyDraft(WORLD);
  for (const command of commands) draft.run(command);
  return draft;
}

const lost = (command: PlannedCommand): SentCommand => ({ command, response: 'LOST' });
const accepted = (command: PlannedCommand): SentCommand => ({ command, response: 'ACCEPTED' });
const refused = (command: PlannedCommand): SentCommand => ({ command, response: 'REFUSED' });

const password = (username: string): AccessChange => ({
  kind: 'PUT_CLIENT',
  username,
  mode: 'UPDATE',
  fields: { password: 'secret' },
});
const text = (username: string, textName: string): AccessChange => ({
  kind: 'PUT_CLIENT',
  username,
  mode: 'UPDATE',
  fields: { textName },
});

test('of commands with lost responses, those that lead to the current policy are DONE', () => {
  const commands = commandsOf(text('ann', 'A'), text('bob', 'B'), { kind: 'DELETE_ROLE', roleName: 's' });
  const sent = commands.map(lost);
  for (let done = 0; done <= commands.length; done += 1) {
    const expected = commands.map((_command, index) => (index < done ? 'DONE' : 'NOT_DONE'));
    expect(judge(WORLD, sent, after(...commands.slice(0, done)))).toEqual(expected);
  }
});

test('a password is UNKNOWN unless a later command was executed or an earlier one was not', () => {
  const [first, secret, last] = commandsOf(text('ann', 'A'), password('bob'), text('ann', 'B'));
  if (!first || !secret || !last) throw new Error('three commands');
  const sent = [first, secret, last].map(lost);
  expect(judge(WORLD, sent, after(first, secret, last))).toEqual(['DONE', 'DONE', 'DONE']);
  expect(judge(WORLD, sent, after(first))).toEqual(['DONE', 'UNKNOWN', 'NOT_DONE']);
  expect(judge(WORLD, sent, after())).toEqual(['NOT_DONE', 'NOT_DONE', 'NOT_DONE']);
  expect(judge(WORLD, [lost(secret)], after())).toEqual(['UNKNOWN']);
  expect(judge(WORLD, [accepted(secret)], after())).toEqual(['DONE']);
});

test('taken away and given back looks as if nothing had happened', () => {
  const commands = commandsOf(
    { kind: 'REMOVE_CLIENT_ROLE', username: 'ann', roleName: 'r' },
    { kind: 'ADD_CLIENT_ROLE', username: 'ann', role: at('r') },
  );
  expect(judge(WORLD, commands.map(lost), after())).toEqual(['UNKNOWN', 'UNKNOWN']);
  expect(judge(WORLD, commands.map(lost), after(...commands.slice(0, 1)))).toEqual(['DONE', 'NOT_DONE']);
});

test('if another client wrote, too, each command is evaluated by its own effects', () => {
  const commands = commandsOf(text('ann', 'A'), text('bob', 'B'), {
    kind: 'PUT_ROLE_ACL',
    roleName: 's',
    acl: rule('send c'),
  });
  const [first, second, third] = commands;
  if (!first || !second || !third) throw new Error('three commands');
  const foreign = commandsOf(text('bob', 'foreign'))[0];
  if (!foreign) throw new Error('a command');
  expect(judge(WORLD, commands.map(lost), after(first, second, foreign))).toEqual(['DONE', 'UNKNOWN', 'NOT_DONE']);
});

test('an accepted command without its result is UNKNOWN, and a refused one with its result is DONE', () => {
  const [add] = commandsOf({ kind: 'ADD_CLIENT_ROLE', username: 'bob', role: at('r') });
  if (!add) throw new Error('a command');
  expect(judge(WORLD, [accepted(add)], after(add))).toEqual(['DONE']);
  expect(judge(WORLD, [accepted(add)], after())).toEqual(['UNKNOWN']);
  expect(judge(WORLD, [refused(add)], after())).toEqual(['NOT_DONE']);
  expect(judge(WORLD, [refused(add)], after(add))).toEqual(['DONE']);
});

test('an earlier success is not doubted because a later command overwrote it', () => {
  const commands = commandsOf(text('ann', 'A'), text('ann', 'B'));
  expect(judge(WORLD, commands.map(accepted), after(...commands))).toEqual(['DONE', 'DONE']);
});

test('the order of equal rules is part of what is compared', () => {
  const commands = commandsOf({
    kind: 'PUT_ROLE',
    roleName: 'r',
    mode: 'UPDATE',
    fields: { acls: [rule('send b'), rule('send a')] },
  });
  expect(judge(WORLD, commands.map(lost), after())).toEqual(['NOT_DONE']);
  expect(judge(WORLD, commands.map(lost), after(...commands))).toEqual(['DONE']);
});
