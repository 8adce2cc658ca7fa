import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import { type AccessState, sizeOf } from './access-state.ts';

/** What commands work on. */
export interface CommandContext {
  readonly state: AccessState;
  /** The hash of the password in the command; null: it has none. */
  passwordHash(command: ControlCommand): string | null;
  /** Disconnects the clients of an account once the request was answered; null: those without user name. */
  kick(username: string | null): void;
  /** Addresses of the connected clients of an account. */
  addresses(username: string): readonly string[];
}

/** Answers the `data` of a command that reads, and nothing for one that writes. Refusals come before the first change. */
export type Run = (command: ControlCommand, context: CommandContext) => object | undefined;

/** By the names that Mosquitto gives them. */
export type CommandTable = Readonly<Record<string, Run>>;

export function kickMembers(groupname: string, { state, kick }: CommandContext): void {
  if (state.policy.anonymousGroup === groupname) kick(null);
  for (const username of state.members(groupname)) kick(username);
}

/** Those who hold it themselves, and through their groups. */
export function kickHolders(rolename: string, context: CommandContext): void {
  const { state, kick } = context;
  for (const username of state.clientsWith(rolename)) kick(username);
  for (const groupname of state.groupsWith(rolename)) kickMembers(groupname, context);
}

export const NO_ROOM = 'Too much access control to keep';

/** Refuses what would grow beyond what may be kept. `old` is what it takes the place of. */
export function requireRoom(
  state: AccessState,
  object: Parameters<typeof sizeOf>[0],
  old?: Parameters<typeof sizeOf>[0],
): void {
  if (!state.hasRoomFor(sizeOf(object) - (old ? sizeOf(old) : 0))) {
    throw new ControlRefusal(NO_ROOM);
  }
}
