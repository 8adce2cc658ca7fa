import type { ControlCommand } from './envelope.ts';
import { type Fields, fieldOf } from './fields.ts';
import { ControlRefusal } from './plugin.ts';

export type CommandTable = Readonly<Record<string, (command: ControlCommand) => unknown>>;

/** Executes a command from a table with lower-case keys. Command names are case-insensitive like in Mosquitto. */
export function runCommandOf(table: CommandTable, command: ControlCommand): unknown {
  const name = command.command.toLowerCase();
  const run = Object.hasOwn(table, name) ? table[name] : undefined;
  if (!run) throw new ControlRefusal('Unknown command');
  return run(command);
}

interface Page {
  readonly verbose: boolean;
  readonly count: number;
  readonly offset: number;
}

/** Values of wrong types are ignored. A `count` of 0 or less returns all. */
export function pageOf(command: ControlCommand): Page {
  const [verbose, count, offset] = ['verbose', 'count', 'offset'].map((name) => fieldOf(command, name));
  return {
    verbose: verbose === true,
    count: typeof count === 'number' && count > 0 ? Math.trunc(count) : Number.POSITIVE_INFINITY,
    offset: typeof offset === 'number' && offset > 0 ? Math.trunc(offset) : 0,
  };
}

export function requiredText(command: Fields, field: string): string {
  const value = fieldOf(command, field);
  if (typeof value !== 'string') throw new ControlRefusal(`Invalid/missing ${field}`);
  return value;
}
