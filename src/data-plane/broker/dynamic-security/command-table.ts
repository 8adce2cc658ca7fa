import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import { type AccessState, type Sized, sizeOf } from './access-state.ts';
import { flagOf, integerOf } from './command-fields.ts';

export interface CommandContext {
  readonly state: AccessState;
  passwordHash(command: ControlCommand): string | null;
  /** Disconnects the clients of an account after the response; `null`: clients without a user name. */
  kick(username: string | null): void;
  addresses(username: string): readonly string[];
}

/** Returns `data` if the command reads; `undefined` if it writes. Throws `ControlRefusal` before the first change. */
export type Run = (command: ControlCommand, context: CommandContext) => object | undefined;

export type CommandTable = Readonly<Record<string, Run>>;

export function kickMembers(groupname: string, { state, kick }: CommandContext): void {
  if (state.policy.anonymousGroup === groupname) kick(null);
  for (const username of state.members.of(groupname)) kick(username);
}

/** Disconnects the clients that have the role directly or through a group. */
export function kickHolders(rolename: string, context: CommandContext): void {
  const { state, kick } = context;
  for (const username of state.clientsWith.of(rolename)) kick(username);
  for (const groupname of state.groupsWith.of(rolename)) kickMembers(groupname, context);
}

export const NO_ROOM = 'Too much access control to keep';

/** Refuses an object that exceeds the total size of access control. `old` is the object that it replaces. */
export function withRoom<T extends Sized>(state: AccessState, object: T, old?: Sized): T {
  if (!state.hasRoomFor(sizeOf(object) - (old ? sizeOf(old) : 0))) throw new ControlRefusal(NO_ROOM);
  return object;
}

export function found<T>(objects: ReadonlyMap<string, T>, name: string, kind: 'Client' | 'Group' | 'Role'): T {
  const object = objects.get(name);
  if (!object) throw new ControlRefusal(`${kind} not found`);
  return object;
}

/** A page of names, or of objects if `verbose` is set. As in Mosquitto, a `count` of 0 means 1, a negative one all. */
export function pageOf<T extends object>(
  command: ControlCommand,
  state: AccessState,
  objects: ReadonlyMap<string, T>,
  respond: (object: T) => object,
): readonly (string | object)[] {
  const count = integerOf(command, 'count', -1);
  const offset = Math.max(0, integerOf(command, 'offset', 0));
  const end = count < 0 ? Number.POSITIVE_INFINITY : offset + Math.max(1, count);
  const names = state.names(objects).slice(offset, end);
  return flagOf(command, 'verbose', false) ? names.map((name) => respond(objects.get(name) as T)) : names;
}
