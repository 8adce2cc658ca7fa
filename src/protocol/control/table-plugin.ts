import type { ControlApi, ControlCommand } from './envelope.ts';
import type { ControlPlugin } from './plugin.ts';
import { runCommandOf } from './plugin-arguments.ts';

type Commands = Readonly<Record<string, (command: ControlCommand) => unknown>>;

/** A control plugin that only has commands. The names in `commands` are in lower case. */
export const tablePlugin = (api: ControlApi, commands: Commands): ControlPlugin => ({
  api,
  execute: (command) => runCommandOf(commands, command),
  close: () => {},
});
